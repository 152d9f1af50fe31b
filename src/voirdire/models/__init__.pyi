from voirdire.models.chat_completions import OpenAICompatibleModel as OpenAICompatibleModel
from voirdire.models.port import Capabilities as Capabilities
from voirdire.models.port import ChatModel as ChatModel
from voirdire.models.port import ChatRequest as ChatRequest
from voirdire.models.port import SamplingChatModel as SamplingChatModel
from voirdire.models.providers import is_model_name as is_model_name
from voirdire.models.providers import load_model as load_model
