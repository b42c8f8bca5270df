// go-oidc with golang.org/x/oauth2.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

func main() {
	ctx := context.Background()
	address := "127.0.0.1:" + os.Getenv("PORT")
	provider, err := oidc.NewProvider(ctx, os.Getenv("ISSUER"))
	if err != nil {
		log.Fatal(err)
	}
	clientID := os.Getenv("CLIENT_ID")
	config := oauth2.Config{
		ClientID:     clientID,
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		Endpoint:     provider.Endpoint(),
		RedirectURL:  "http://" + address + "/callback",
		Scopes:       []string{oidc.ScopeOpenID, "profile", "email"},
	}
	verifier := provider.Verifier(&oidc.Config{ClientID: clientID})
	pkce := oauth2.GenerateVerifier()
	// One browser comes here. An application keeps a state and a verifier for each one, in a cookie.
	state := oauth2.GenerateVerifier()

	http.HandleFunc("/sign-in", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, config.AuthCodeURL(state, oauth2.S256ChallengeOption(pkce)), http.StatusFound)
	})
	http.HandleFunc("/callback", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("state") != state {
			http.Error(w, "another state", http.StatusBadRequest)
			return
		}
		tokens, err := config.Exchange(ctx, r.URL.Query().Get("code"), oauth2.VerifierOption(pkce))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		raw, _ := tokens.Extra("id_token").(string)
		id, err := verifier.Verify(ctx, raw)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
		if err != nil || info.Subject != id.Subject {
			http.Error(w, "another person", http.StatusBadGateway)
			return
		}
		var claims map[string]any
		_ = info.Claims(&claims)
		_ = json.NewEncoder(w).Encode(claims)
	})
	log.Fatal(http.ListenAndServe(address, nil))
}
