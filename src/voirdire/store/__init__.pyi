from voirdire.store.reply_store import JudgeRecord as JudgeRecord
from voirdire.store.reply_store import ReplyStore as ReplyStore
from voirdire.store.reply_store import StoredCall as StoredCall
from voirdire.store.reply_store import open_store as open_store
