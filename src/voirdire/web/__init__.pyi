from voirdire.web.app import create_app as create_app
from voirdire.web.server import serve as serve
from voirdire.web.settings import ServerSettings as ServerSettings
