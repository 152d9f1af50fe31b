from voirdire.store.annotation_store import AnnotationStore as AnnotationStore
from voirdire.store.annotation_store import Answer as Answer
from voirdire.store.annotation_store import Seat as Seat
from voirdire.store.annotation_store import open_annotations as open_annotations
from voirdire.store.reply_store import JudgeRecord as JudgeRecord
from voirdire.store.reply_store import ReplyStore as ReplyStore
from voirdire.store.reply_store import StoredCall as StoredCall
from voirdire.store.reply_store import open_store as open_store
