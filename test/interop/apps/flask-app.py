"""Authlib, in Flask."""
import os

from authlib.integrations.flask_client import OAuth
from flask import Flask, jsonify, redirect, session, url_for

app = Flask(__name__)
app.secret_key = "x" * 32
bailiwick = OAuth(app).register(
    "bailiwick",
    server_metadata_url=os.environ["ISSUER"] + "/.well-known/openid-configuration",
    client_id=os.environ["CLIENT_ID"],
    client_secret=os.environ["CLIENT_SECRET"],
    client_kwargs={"scope": "openid profile email", "code_challenge_method": "S256"},
)


@app.get("/sign-in")
def sign_in():
    return bailiwick.authorize_redirect(url_for("callback", _external=True))


@app.get("/callback")
def callback():
    session["user"] = bailiwick.authorize_access_token()["userinfo"]
    return redirect("/")


@app.get("/")
def home():
    return jsonify(session.get("user"))


app.run("127.0.0.1", int(os.environ["PORT"]))
