"""Deploys the templates of infra/ to an emulator of AWS and looks whether everything is there.

Called by localstack/deploy. What the emulator lacks is left out of the templates by its type, and listed; references to it
get a value that stands for it. Nothing is invoked: without Docker the emulator runs no function.
"""

import io
import json
import pathlib
import re
import sys
import zipfile

import boto3

REGION = "eu-west-1"
ACCOUNT = "000000000000"
ASSETS = f"cdk-hnb659fds-assets-{ACCOUNT}-{REGION}"
# What LocalStack's free edition does not have, and what needs it.
LACKING = (
    "AWS::ApiGatewayV2::",
    "AWS::EC2::EIP",
    "AWS::EC2::FlowLog",
    "AWS::EC2::NatGateway",
    "AWS::EC2::Route",
    "AWS::EC2::SecurityGroupEgress",
    "AWS::EC2::SecurityGroupIngress",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::EC2::VPCEndpoint",
    "AWS::ElastiCache::",
    "AWS::Lambda::EventSourceMapping",  # Kafka's
    "AWS::MSK::",
    "Custom::",
)
# What no edition has.
LACKING_EVERYWHERE = ("AWS::ElastiCache::ServerlessCache", "AWS::MSK::Topic")


class Emulator:
    def __init__(self, url: str, lacking: tuple[str, ...]):
        self.url, self.lacking = url, lacking
        self.stood_in: set[str] = set()

    def client(self, service: str):
        credentials = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        return boto3.client(service, endpoint_url=self.url, region_name=REGION, **credentials)

    def upload(self, assets: dict) -> None:
        """Every function gets the same stand-in."""
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("bootstrap", "#!/bin/sh\nexit 1\n")
        s3 = self.client("s3")
        for asset in assets.get("files", {}).values():
            for destination in asset["destinations"].values():
                s3.put_object(Bucket=ASSETS, Key=destination["objectKey"], Body=archive.getvalue())

    def deploy(self, name: str, template: dict, exports: dict) -> dict:
        """Deploys what the emulator has; gives what the stack exports."""
        resources = template["Resources"]
        left_out = {key for key, resource in resources.items() if resource["Type"].startswith(self.lacking)}
        for key in sorted(left_out):
            print(f"  left out: {resources[key]['Type']} {key}")
        kept = {key: self.mended(resource, left_out, exports) for key, resource in resources.items() if key not in left_out}
        outputs = {key: self.mended(output, left_out, exports) for key, output in template.get("Outputs", {}).items()}
        body = json.dumps({"Resources": kept, "Outputs": outputs})
        self.client("s3").put_object(Bucket=ASSETS, Key=f"{name}.json", Body=body)
        formation = self.client("cloudformation")
        where = f"{self.url}/{ASSETS}/{name}.json"
        formation.create_stack(StackName=name, TemplateURL=where, Capabilities=["CAPABILITY_NAMED_IAM"])
        formation.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 300})
        made = formation.describe_stacks(StackName=name)["Stacks"][0].get("Outputs", [])
        print(f"  deployed: {len(kept)} resources of {name}")
        return {output["ExportName"]: output["OutputValue"] for output in made if "ExportName" in output}

    def mended(self, value, left_out: set, exports: dict):
        """The same without references to what is left out, and with the values of other stacks."""
        if isinstance(value, list):
            return [self.mended(item, left_out, exports) for item in value]
        if not isinstance(value, dict):
            return value
        if set(value) == {"Fn::ImportValue"}:
            return exports[value["Fn::ImportValue"]]
        target = value.get("Ref") or (value.get("Fn::GetAtt") or [None])[0]
        if target in left_out:
            return stand_in(target, value)
        depends = value.get("DependsOn", [])
        mended = {key: self.mended(item, left_out, exports) for key, item in value.items() if key != "Metadata"}
        if depends and isinstance(depends, list):
            mended["DependsOn"] = [item for item in depends if item not in left_out]
        return mended


def stand_in(target: str, reference: dict) -> str:
    attribute = (reference.get("Fn::GetAtt") or ["", ""])[1]
    if attribute == "Arn":
        return f"arn:aws:kafka:{REGION}:{ACCOUNT}:cluster/{target}/0-0"
    return "6379" if attribute.endswith("Port") else f"{target.lower()}.invalid"


def check(emulator: Emulator, name: str) -> None:
    functions = emulator.client("lambda").list_functions()["Functions"]
    wanted = {f"{name}-{part}" for part in ("enqueue", "fast-lane", "slow-lane", "scheduler", "reconciler")}
    found = {function["FunctionName"] for function in functions}
    assert wanted <= found, f"functions missing: {wanted - found}"
    for function in functions:
        if function["FunctionName"] in wanted:
            variables = function["Environment"]["Variables"]
            assert not [key for key in variables if re.fullmatch(r"HOWK_(SECRETS_KEY|API_KEYS)", key)], "a secret in a variable"
    schedules = emulator.client("scheduler").list_schedules(GroupName=name)["Schedules"]
    assert {schedule["Name"] for schedule in schedules} == {f"{name}-scheduler", f"{name}-reconciler"}, schedules
    queues = emulator.client("sqs").list_queues(QueueNamePrefix=name).get("QueueUrls", [])
    assert len(queues) == 1, queues
    secrets = {secret["Name"] for secret in emulator.client("secretsmanager").list_secrets()["SecretList"]}
    assert {f"{name}/secrets-key", f"{name}/api-keys"} <= secrets, secrets
    alarms = emulator.client("cloudwatch").describe_alarms(AlarmNamePrefix=f"{name}-")["MetricAlarms"]
    assert len(alarms) > 10, alarms
    print(f"  there: {len(wanted)} functions, {len(schedules)} schedules, 1 queue, 2 secrets, {len(alarms)} alarms")


def main(url: str, folder: pathlib.Path, edition: str) -> None:
    emulator = Emulator(url, LACKING_EVERYWHERE if edition == "licensed" else LACKING)
    emulator.client("s3").create_bucket(Bucket=ASSETS, CreateBucketConfiguration={"LocationConstraint": REGION})
    manifest = json.loads((folder / "manifest.json").read_text())
    stacks = [key for key, artifact in manifest["artifacts"].items() if artifact["type"] == "aws:cloudformation:stack"]
    exports: dict = {}
    for name in sorted(stacks, key=len, reverse=True):  # NAME-data before NAME
        print(name)
        emulator.upload(json.loads((folder / f"{name}.assets.json").read_text()))
        exports |= emulator.deploy(name, json.loads((folder / f"{name}.template.json").read_text()), exports)
    check(emulator, min(stacks, key=len))


main(sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3])
