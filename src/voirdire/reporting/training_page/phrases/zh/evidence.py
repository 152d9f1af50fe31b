"""The figures with their tables, what paid, every step, and what could not be read, in Chinese."""

from __future__ import annotations

__all__ = ["PHRASES"]

_WHAT = {
    "training.what.title": "由什么打分，由谁作答",
    "training.what.reward": "奖励",
    "training.what.hash": "奖励文件",
    "training.what.rubric": "准则",
    "training.what.judge": "评判员",
    "training.what.answered": "级联的评判员",
    "training.what.answered.share": "{name}：{share}",
    "training.what.answered.moved": "{name}：{share}（起初 {start}，最后 {end}）",
    "training.what.fingerprint": "其判定的指纹",
    "training.what.threshold": "概率达到多少算成立",
    "training.what.judged": "评判的内容",
    "training.judged.final_answer": "最终回答",
    "training.judged.with_reasoning": "回答及其推理",
    "training.judged.whole_turn": "整轮回复",
    "training.what.certificates": "证书",
    "training.what.certificates.unknown": "训练未作记录；奖励文件中有其评判员的证书",
    "training.what.certificates.count": "在计入奖励的 {propositions}中，有 {n} 个",
    "training.what.behaviors": "行为",
    "training.what.centered": "居中",
    "training.what.centered.yes": "规则奖励中减去了各行为的均值",
    "training.what.framework": "训练框架",
    "training.what.created": "开始时间",
    "training.what.writers": "写入的进程数",
    "training.what.reference": "参照训练",
    "training.what.reference.none": "没有；警报与本次训练的开头相比",
    "training.what.reference.same": "{name}，{steps}，使用同一个奖励",
    "training.what.reference.other": "{name}，{steps}，使用另一个奖励（{reward}）：两者的奖励不在"
    "同一尺度上",
    "training.what.versions": "版本",
}
_CERTIFICATES = {
    "training.certificates.title": "评判员有什么证明",
    "training.certificates.lead": "证书是一次考察的记录：在事先定下的差距之下，拿评判员与人相比。它"
    "只对该评判员、该准则以及与所标注文本相似的文本有效。",
    "training.certificates.unknown": "训练没有记录该奖励当时有哪些证书。奖励文件中有其评判员的证"
    "书。",
    "training.certificates.nothing": "没有命题计入奖励。",
    "training.certificates.all": "计入奖励的 {propositions}，<strong>其评判员都有有效证书"
    "</strong>。",
    "training.certificates.some": "<strong>在计入奖励的 {propositions}中，有 {n} 个的评判员有有效证"
    "书。</strong>没有的是：{list}。",
    "training.certificates.none": "计入奖励的 {propositions}，<strong>其评判员都没有有效证书"
    "</strong>。",
    "training.certificates.fold": "证书对 {propositions}的说明",
    "training.certificates.label": "各命题的证书",
    "training.certificates.caption": "先列计入奖励的命题。ω 是评判员在差距 ε 之下不输的标注员所占的"
    "比例；从 0.5 起为通过。",
    "training.certificates.cut": "共 {n} 个，这里列出前 {shown} 个。",
    "training.column.certificate": "证书",
    "training.column.shown": "证明了什么",
    "training.column.mark": "其哈希",
    "training.certificate.passed": "有效",
    "training.certificate.failed": "考察过，未达标",
    "training.certificate.no_evidence": "考察过，证据不足",
    "training.certificate.other_judge": "属于另一个评判员，或其另一种设置",
    "training.certificate.other_rubric": "属于另一个准则",
    "training.certificate.no_judge": "无：权重由人给定，适用于任何评判员",
    "training.certificate.none": "从未考察",
    "training.certificate.shown": "ε = {epsilon} 时 ω = {omega}，{alignment}，{annotators}，"
    "{items}",
}
_REWARD = {
    "training.reward.title": "奖励",
    "training.reward.figure": "每步的平均奖励；色带为该步奖励上下各一个标准差。三角标出警报出现之"
    "处。",
    "training.thinned": "每个点为 {n} 步的均值。",
    "training.parts.fold": "同样的内容，以数字表示",
    "training.parts.caption": "把训练等分成几段，各段的均值。",
    "training.parts.label": "训练各段的数字",
    "training.column.steps": "步",
    "training.column.completions": "回复数",
    "training.column.reward": "奖励",
    "training.column.sd": "标准差",
    "training.column.rule": "规则部分",
    "training.column.base": "基础部分",
    "training.column.reference": "参照训练",
    "training.column.without": "没有奖励",
    "training.column.missing": "占比",
    "training.column.length": "平均长度",
    "training.column.correlation": "与奖励的相关",
    "training.column.flat": "奖励全同的组",
    "training.column.proposition": "命题",
    "training.column.behavior": "行为",
    "training.column.class": "类别",
    "training.column.pays": "计入奖励",
    "training.column.start": "最初 {edge}",
    "training.column.end": "最后 {edge}",
    "training.column.change": "变化",
}
_MOVES = {
    "training.propositions.title": "命题",
    "training.propositions.lead": "命题对一步中各回复成立的平均概率。先列出有警报的，再列出变化最大"
    "的。",
    "training.propositions.figure": "名称旁边是最初与最后 {edge}的均值。",
    "training.propositions.fold": "全部 {propositions}，以数字表示",
    "training.propositions.label": "各命题在最初与最后几步的情况",
    "training.propositions.caption": "平均概率。参照训练取本次训练结束时的那些步。",
    "training.propositions.cut": "共 {n} 个，这里列出前 {shown} 个。",
    "training.classes.title": "类别",
    "training.classes.lead": "回复在多大程度上符合提示应得的行为：各类别的平均概率，合计为 1。",
    "training.classes.figure": "各类别的占比，上下堆叠。",
    "training.classes.fold": "全部类别，以数字表示",
    "training.classes.label": "各类别在最初与最后几步的情况",
    "training.classes.caption": "各类别的平均概率。",
    "training.classes.cut": "共 {n} 个，这里列出前 {shown} 个。",
    "training.length.title": "长度",
    "training.length.lead": "为长度付分的奖励会随长度增长。相关系数在每一步之内计算，因此随时间学习"
    "不计在内。",
    "training.length.figure": "上为平均奖励，下为平均长度，步数上下对齐。",
    "training.missing.title": "缺失的奖励",
    "training.missing.lead": "评判员失败或超时的回复没有奖励；绝不会用 0 代替。",
    "training.missing.figure": "没有奖励的回复所占的比例。",
}
_ENDING = {
    "training.steps.title": "每一步",
    "training.steps.fold": "{steps}的数字",
    "training.steps.label": "各步的数字",
    "training.steps.cut": "共 {n} 步，这里列出最初和最后各 {half} 步；训练记录的文件中有全部。",
    "training.dropped.title": "未能读取的内容",
    "training.dropped.none": "训练记录的全部内容都能读取。",
    "training.dropped.fold": "略去 {pieces}",
    "training.dropped.cut": "这里列出前 {shown} 行。",
    "training.glossary.title": "术语表",
    "training.glossary.step.word": "步",
    "training.glossary.step": "一轮训练：模型回答提示，回答得到分数，模型随之改变。",
    "training.glossary.reward.word": "奖励",
    "training.glossary.reward": "给一条回复打的分数：基础奖励（如果有）加上评判员所说内容的加权"
    "和。",
    "training.glossary.proposition.word": "命题",
    "training.glossary.proposition": "关于回复的一个以真或假来回答的问题。",
    "training.glossary.class.word": "类别",
    "training.glossary.class": "回复在多大程度上符合其行为，从理想到不允许。",
    "training.glossary.group.word": "组",
    "training.glossary.group": "一步之中同一提示的各条回复。它们的得分是相对的：若得分全都一样，就"
    "学不到任何东西。",
    "training.glossary.reference.word": "参照训练",
    "training.glossary.reference": "用来对照的、先前的一次训练。",
}
PHRASES: dict[str, str] = _WHAT | _CERTIFICATES | _REWARD | _MOVES | _ENDING
