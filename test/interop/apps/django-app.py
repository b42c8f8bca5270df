"""mozilla-django-oidc, with the settings that the console writes (SETTINGS and URLS)."""
import os
import sys

import django
from django.core.management import call_command, execute_from_command_line
from django.http import JsonResponse
from django.urls import path

SECRET_KEY = "x" * 50
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = __name__
USE_TZ = True
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ["DATABASE"]}}
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
exec(os.environ["SETTINGS"])


def home(request):
    user = request.user
    return JsonResponse({"email": user.email} if user.is_authenticated else {})


urlpatterns = [path("", home)]

if __name__ == "__main__":
    sys.modules["django_app"] = sys.modules["__main__"]
    os.environ["DJANGO_SETTINGS_MODULE"] = "django_app"
    django.setup()
    exec(os.environ["URLS"])
    call_command("migrate", verbosity=0)
    execute_from_command_line(["manage.py", "runserver", "--noreload", "127.0.0.1:" + os.environ["PORT"]])
