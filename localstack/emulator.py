"""Starts LocalStack's free edition in this process, in place of a container.

Without Docker it runs no function; so it does not prepare to, which would need Docker. Functions are created all the same.
"""

from localstack.runtime.main import main
from localstack.services.lambda_.invocation.docker_runtime_executor import DockerRuntimeExecutor

DockerRuntimeExecutor.prepare_version = classmethod(lambda cls, version: None)
main()
