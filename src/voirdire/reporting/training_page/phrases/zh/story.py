"""The head of the page, what happened, and the alarms, in Chinese."""

from __future__ import annotations

__all__ = ["PHRASES"]

_PAGE = {
    "training.page.title": "在这个奖励下，模型学到了什么？",
    "training.page.kicker": "训练记录",
    "training.page.meta": "{name}，{steps}共 {completions}，训练框架 {framework}",
    "training.page.colophon": "由 voirdire {version} 生成。本页没有从别处加载任何内容。此处的数字"
    "经过取整；训练记录的文件中有全部位数。",
    "count.steps.one": "{n} 步",
    "count.steps.many": "{n} 步",
    "count.alarms.one": "{n} 个警报",
    "count.alarms.many": "{n} 个警报",
    "count.propositions.one": "{n} 个命题",
    "count.propositions.many": "{n} 个命题",
    "count.paying.one": "{n} 个命题",
    "count.paying.many": "{n} 个命题",
    "count.pieces.one": "{n} 处",
    "count.pieces.many": "{n} 处",
}
_STORY = {
    "training.story.title": "发生了什么",
    "training.short.alarms": "有 {alarms}",
    "training.short.quiet": "没有警报",
    "training.short.few": "太短，无法判断",
    "training.short.nothing": "没有奖励",
    "training.story.alarms": "<strong>出现了 {alarms}</strong>：{list}。",
    "training.story.alarm": "{said}（第 {step} 步）",
    "training.story.alarm.more": "另有 {n} 个",
    "training.story.quiet": "<strong>没有出现警报。</strong>",
    "training.story.quiet.few": "<strong>没有出现警报</strong>，但多数警报看的是十步的均值，而本"
    "次训练只有 {steps}。",
    "training.edge.one": "1 步",
    "training.story.reward.rose": "<strong>平均奖励从 {start} 升到 {end}</strong>（最初 {edge}与"
    "最后 {edge}的均值）。",
    "training.story.reward.fell": "<strong>平均奖励从 {start} 降到 {end}</strong>（最初 {edge}与"
    "最后 {edge}的均值）。",
    "training.story.reward.same": "<strong>平均奖励保持在 {end}</strong>（最初 {edge}与最后 "
    "{edge}的均值）。",
    "training.story.reward.partly": "平均奖励在最初 {edge}为 {start}，在最后 {edge}为 {end}；短横"
    "表示没有任何回复得到奖励。",
    "training.story.reward.one": "仅有的一步，平均奖励为 {end}。",
    "training.story.reward.none": "<strong>没有任何回复得到奖励。</strong>",
    "training.story.parts": "其中规则部分从 {rule_start} 变为 {rule_end}，基础奖励从 "
    "{base_start} 变为 {base_end}。",
    "training.story.reference": "参照训练（{name}）在相同的步上为 {mean}，本次为 {end}。",
    "training.story.reference.none": "参照训练（{name}）在这些步上没有奖励。",
    "training.story.moved": "变化最大的命题是 {list}。",
    "training.story.move": "{name}（{start} → {end}）",
    "training.story.unpaid": "{list} 不计入任何奖励，却也变了。",
    "training.story.still": "没有命题的变化达到 0.05。",
    "training.story.classes": "各类别中，{list}。",
    "training.story.class": "{behavior} 的 {name} 从 {start} 变为 {end}",
    "training.story.length.tokens": "回复的平均长度从 {start} 个词元变为 {end} 个。",
    "training.story.length.characters": "回复的平均长度从 {start} 个字符变为 {end} 个。",
    "training.story.missing": "全部回复中有 {share} 没有得到奖励。",
    "training.story.missing.none": "每条回复都得到了奖励。",
    "training.story.uncertified": "在计入奖励的 {propositions}中，有 {n} 个的评判员没有有效证书。",
    "training.story.flat": "最后几步中，有 {share} 的组内奖励完全相同：从这些组学不到任何东西。",
}
_ALARMS = {
    "training.alarms.title": "警报",
    "training.alarms.none": "没有出现。",
    "training.alarms.caption": "按出现的先后排列。每个警报只报一次，直到它解除后再次出现。",
    "training.alarms.label": "各步的警报",
    "training.alarms.cut": "共 {n} 个，这里列出前 {shown} 个。",
    "training.alarms.do": "怎么办",
    "training.column.step": "步",
    "training.column.alarm": "警报",
    "training.column.said": "观察到的情况",
    "training.alarm.missing": "缺失",
    "training.alarm.saturation": "饱和",
    "training.alarm.drift": "漂移",
    "training.alarm.length": "长度",
    "training.alarm.spread": "离散度",
    "training.alarm.nonsense": "无意义回复",
    "training.alarm.missing.said": "{value} 的奖励缺失",
    "training.alarm.saturation.proposition.said": "{subject} 有 {value} 成立，此前为 {was}：它已"
    "分不出回复的差别",
    "training.alarm.saturation.groups.said": "{value} 的组内奖励完全相同",
    "training.alarm.drift.said": "{subject} 的平均概率为 {value}，参照训练中为 {was}",
    "training.alarm.length.longer.said": "回复的平均长度为 {value}，此前为 {was}",
    "training.alarm.length.paid.said": "长度与奖励的相关系数为 {value}",
    "training.alarm.spread.said": "奖励的标准差为 {value}，最初为 {was}",
    "training.alarm.nonsense.frequent.said": "{value} 的回复没有意义，此前为 {was}",
    "training.alarm.nonsense.paid.said": "没有意义的回复比同一提示的其他回复多得 {value} 的奖励",
    "training.alarm.missing.do": "<code>{run}</code> 中的 <code>completions/*.parquet</code> 在 "
    "<code>missing</code> 一栏写明了原因。若是调用超时，请延长时限、减少同时进行的调用，或在前面放"
    "一个本地评判员；若是调用失败，请修复所用的服务。",
    "training.alarm.saturation.do": "每条回复都有的，就不会给任何回复加分。请阅读最后几步的回复（"
    "<code>voirdire sample {run} -o sample</code>）。若回复确实好，规则已完成任务：可以停止，或改用"
    "更难的提示。若只是评判员觉得好，请人标注这份样本，并用它重新考察评判员。",
    "training.alarm.drift.do": "要么回复变了，要么评判员对模型现在所写的内容作答不同了。请人标注一"
    "份样本（<code>voirdire sample {run} -o sample</code>），用它重新考察评判员，然后再相信这个奖"
    "励。",
    "training.alarm.length.do": "请阅读样本中最长的回复（<code>voirdire sample {run} -o sample"
    "</code>），并请人标注这份样本。若长回复的得分高于人的评价，请在基础奖励中为长度定价，或换一个"
    "评判员。",
    "training.alarm.spread.do": "各条回复所得几乎相同。请阅读其中一些（<code>voirdire sample {run} "
    "-o sample</code>）。可以提高采样温度、改用更难的提示，或者用模型自己的回复之间的比较重新拟合权"
    "重（<code>voirdire fit</code>）。",
    "training.alarm.nonsense.do": "请阅读被规则判为没有意义的回复（<code>voirdire sample {run} -o "
    "sample</code>）：空回复，重复自己或重复提示的回复，或把套话串在一起的回复。若确实没有意义，请停"
    "止训练：模型正在学写这样的回复。请把它们作为各自提示中最差的回复加入比较，重新拟合（"
    "<code>voirdire fit</code>），或换一个评判员；<code>voirdire examine-reward</code> 会指出哪些没"
    "有意义的回复得分高于真实回复。",
}
_CAUTION = {
    "training.caution.title": "评判员即使考察过，也是在别的文本上",
    "training.caution": "证书说明的是：在考察所用的那些回复上，评判员可以代替人。训练中的模型写出的"
    "是别的回复，而且评判员喜欢什么，它就因什么得分：奖励上升并不能证明人也会同意。请从这次训练中抽"
    "取样本，请人填写其中的表格，再用它考察评判员：",
}
PHRASES: dict[str, str] = _PAGE | _STORY | _ALARMS | _CAUTION
