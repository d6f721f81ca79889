import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URI;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;
import org.apache.kafka.common.security.oauthbearer.internals.secured.BasicOAuthBearerToken;

/**
 * Checks the tokens of MSK's IAM sign-in: a presigned request to kafka-cluster:Connect, in base64.
 *
 * <p>One AWS identity may sign in, the one of the listener's JAAS settings access_key_id and secret_access_key. Its
 * temporary credentials carry a session token, which AWS alone can read; here it is the end of the credentials, in ms since
 * the Unix epoch. A connection lives as long as what it was opened with: Kafka ends it unless the client signs in again.
 */
public final class MskTokens implements AuthenticateCallbackHandler {
    private static final DateTimeFormatter DATE = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'");
    private static final String NO_BODY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    private Map<String, ?> identity;

    @Override
    public void configure(Map<String, ?> settings, String mechanism, List<AppConfigurationEntry> jaas) {
        identity = jaas.get(0).getOptions();
    }

    /** The broker also requests a token for itself, and extensions. It needs neither, so those requests are ignored. */
    @Override
    public void handle(Callback[] callbacks) {
        for (Callback callback : callbacks) {
            if (callback instanceof OAuthBearerValidatorCallback) {
                check((OAuthBearerValidatorCallback) callback);
            }
        }
    }

    @Override
    public void close() {}

    private void check(OAuthBearerValidatorCallback asked) {
        try {
            Map<String, String> request = request(asked.tokenValue());
            long begin = LocalDateTime.parse(request.get("X-Amz-Date"), DATE).toInstant(ZoneOffset.UTC).toEpochMilli();
            long end = begin + 1000 * Long.parseLong(request.get("X-Amz-Expires"));
            if (request.containsKey("X-Amz-Security-Token")) {
                end = Math.min(end, Long.parseLong(request.get("X-Amz-Security-Token")));
            }
            if (end <= System.currentTimeMillis()) {
                asked.error("the token has expired", null, null);
                return;
            }
            String user = (String) identity.get("access_key_id");
            asked.token(new BasicOAuthBearerToken(asked.tokenValue(), Set.of(), end, user, begin));
        } catch (SecurityException error) {
            asked.error(error.getMessage(), null, null);
        } catch (RuntimeException | GeneralSecurityException error) {
            asked.error("the token does not have the form of MSK's", null, null);
        }
    }

    /** The parameters of the signed request, if the identity of the listener signed it. */
    private Map<String, String> request(String token) throws GeneralSecurityException {
        URI url = URI.create(new String(Base64.getUrlDecoder().decode(token), UTF_8));
        Map<String, String> request = new TreeMap<>();
        for (String pair : url.getRawQuery().split("&")) {
            String[] parts = pair.split("=", 2);
            request.put(URLDecoder.decode(parts[0], UTF_8), URLDecoder.decode(parts[1], UTF_8));
        }
        String signature = request.remove("X-Amz-Signature");
        // Clients add this parameter after signing.
        request.remove("User-Agent");
        String[] credential = request.get("X-Amz-Credential").split("/", 2);
        boolean isSigned = credential[0].equals(identity.get("access_key_id"))
                && request.get("Action").equals("kafka-cluster:Connect")
                && signature.equals(signature(url.getHost(), request, credential[1]));
        if (!isSigned) {
            throw new SecurityException("the token is not signed with a key that may sign in");
        }
        return request;
    }

    /** The signature of AWS, version 4. */
    private String signature(String host, Map<String, String> request, String scope) throws GeneralSecurityException {
        String query = request.entrySet().stream()
                .map(pair -> escaped(pair.getKey()) + "=" + escaped(pair.getValue()))
                .collect(Collectors.joining("&"));
        String canonical = String.join("\n", "GET", "/", query, "host:" + host, "", "host", NO_BODY);
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(canonical.getBytes(UTF_8));
        String hex = HexFormat.of().formatHex(digest);
        byte[] key = ("AWS4" + identity.get("secret_access_key")).getBytes(UTF_8);
        for (String part : scope.split("/")) {
            key = keyed(key, part);
        }
        String signed = String.join("\n", "AWS4-HMAC-SHA256", request.get("X-Amz-Date"), scope, hex);
        return HexFormat.of().formatHex(keyed(key, signed));
    }

    private static byte[] keyed(byte[] key, String text) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(text.getBytes(UTF_8));
    }

    private static String escaped(String text) {
        return URLEncoder.encode(text, UTF_8).replace("+", "%20").replace("*", "%2A").replace("%7E", "~");
    }
}
