package app;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** Spring Boot with its client for OpenID Connect; the rest is application.yml. */
@SpringBootApplication
@RestController
class App {
  public static void main(String[] args) {
    SpringApplication.run(App.class, args);
  }

  @GetMapping("/")
  String home(@AuthenticationPrincipal OidcUser user) {
    return "{\"sub\":\"%s\",\"email\":\"%s\"}".formatted(user.getSubject(), user.getEmail());
  }
}
