// Colours for code, by the first word behind its fence.
import { Extension } from '@tiptap/core'
import type { Node } from '@tiptap/pm/model'
import { Plugin, PluginKey } from '@tiptap/pm/state'
import { Decoration, DecorationSet } from '@tiptap/pm/view'
import { common, createLowlight } from 'lowlight'

const LONGEST = 20_000 // letters; longer code stays plain, typing in it stays quick
const lowlight = createLowlight(common)
const KEY = new PluginKey<DecorationSet>('mirrordHighlighting')

/** From, to, classes; positions within the text of a block. */
type Span = [number, number, string]
const known = new WeakMap<Node, Span[]>()

export const Highlighting = Extension.create({
  name: 'mirrordHighlighting',
  addProseMirrorPlugins: () => [
    new Plugin<DecorationSet>({
      key: KEY,
      state: {
        init: (_, { doc }) => decorations(doc),
        apply: (transaction, now) => (transaction.docChanged ? decorations(transaction.doc) : now),
      },
      props: { decorations: (state) => KEY.getState(state) },
    }),
  ],
})

function decorations(doc: Node): DecorationSet {
  const found: Decoration[] = []
  doc.descendants((node, at) => {
    if (node.type.spec.code) for (const [from, to, name] of spansOf(node))
      found.push(Decoration.inline(at + 1 + from, at + 1 + to, { class: name }))
    return !node.isTextblock
  })
  return DecorationSet.create(doc, found)
}

function spansOf(node: Node): Span[] {
  let spans = known.get(node)
  if (!spans) {
    spans = spansIn(node)
    known.set(node, spans)
  }
  return spans
}

function spansIn(node: Node): Span[] {
  const language = String(node.attrs['language'] ?? '').split(/[\s{,:]/)[0]!.toLowerCase()
  if (!lowlight.registered(language) || node.textContent.length > LONGEST) return []
  const spans: Span[] = []
  let at = 0
  const walk = (tree: Tree, classes: string) => {
    if (tree.type === 'text') {
      if (classes && tree.value) spans.push([at, at + tree.value.length, classes])
      at += tree.value?.length ?? 0
    }
    const own = [classes, ...(tree.properties?.className ?? [])].filter(Boolean).join(' ')
    for (const child of tree.children ?? []) walk(child, own)
  }
  walk(lowlight.highlight(language, node.textContent) as Tree, '')
  return spans
}

interface Tree {
  type: string
  value?: string
  properties?: { className?: string[] }
  children?: Tree[]
}
