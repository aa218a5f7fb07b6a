// Markdown that is pasted as plain text: whether a text is Markdown, and how its document goes into the page.
import { type Node, type ResolvedPos, Slice } from '@tiptap/pm/model'

const BLOCK = /^(#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|>\s?|(```|~~~)|\|.*\||\$\$|\[\^[^\]]+\]:|(-{3,}|\*{3,}|_{3,})\s*$|---\n)/m
const INLINE = /\[\[[^\]\n]+\]\]|\]\([^)\s]+\)|\*\*\S|~~\S|==\S|`[^`\n]+`|\[\^[^\]\s]+\]|(^|\s)\$[^\s$][^$\n]*\$(\s|[.,;:!?)]|$)/m

/** Whether a text has signs of Markdown. An address alone has none. */
export function isMarkdown(text: string): boolean {
  return !/^\s*\w+:\/\/\S+\s*$/.test(text) && (BLOCK.test(text) || INLINE.test(text))
}

/** The content of *doc* to be put at *$at*: words at its ends join the words there, other blocks stay blocks. */
export function sliceOf(doc: Node, $at: ResolvedPos): Slice {
  if (isItem($at) && isList(doc.firstChild)) return Slice.maxOpen(doc.content, false)
  const depth = (node: Node | null) => (node?.type.name === 'paragraph' ? 1 : 0)
  return new Slice(doc.content, depth(doc.firstChild), depth(doc.lastChild))
}

const isItem = ($at: ResolvedPos) => $at.depth > 1 && /^(list|task)Item$/.test($at.node(-1).type.name)
const isList = (node: Node | null) => /List$/.test(node?.type.name ?? '')
