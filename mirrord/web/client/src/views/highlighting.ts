// Highlights code by the first word behind its fence, once the languages are loaded.
import { Extension } from '@tiptap/core'
import type { Node } from '@tiptap/pm/model'
import { Plugin, PluginKey, type PluginView } from '@tiptap/pm/state'
import { Decoration, DecorationSet, type EditorView } from '@tiptap/pm/view'
import * as later from '../later/later'

const LONGEST = 20_000 // letters; longer code stays plain, so that typing in it is fast
let languages: Languages | null = null

type Languages = Awaited<ReturnType<typeof later.languages>>
const KEY = new PluginKey<DecorationSet>('mirrordHighlighting')

/** Begin, end and classes; positions within the text of a block. */
type Span = [number, number, string]
const known = new WeakMap<Node, Span[]>()
const codes = new WeakMap<Node, readonly [number, Node][]>() // a key changes one block: of the others they are known
const NONE: readonly [number, Node][] = []

export const Highlighting = Extension.create({
  name: 'mirrordHighlighting',
  addProseMirrorPlugins: () => [
    new Plugin<DecorationSet>({
      key: KEY,
      state: {
        init: (_, { doc }) => decorations(doc),
        apply: (transaction, now) =>
          transaction.docChanged || transaction.getMeta(KEY) ? decorations(transaction.doc) : now,
      },
      view: (view) => colouring(view),
      props: { decorations: (state) => KEY.getState(state) },
    }),
  ],
})

/** Loads the languages once the document has code in one. */
function colouring(view: EditorView): PluginView {
  let isAsked = languages !== null
  const look = () => {
    if (isAsked || !hasLanguage(view.state.doc)) return
    isAsked = true
    void later.languages().then(
      (found) => {
        languages = found
        if (!view.isDestroyed) view.dispatch(view.state.tr.setMeta(KEY, true))
      },
      () => undefined, // without languages code is plain
    )
  }
  look()
  return { update: (_, { doc }) => doc === view.state.doc || look() }
}

const hasLanguage = (doc: Node): boolean => doc.children.some((block) => codesIn(block).some(([, node]) => languageOf(node)))

/** The blocks of code in a node, with their positions from its beginning. */
function codesIn(block: Node): readonly [number, Node][] {
  let found = codes.get(block)
  if (!found) {
    found = block.type.spec.code ? [[0, block]] : innerCodes(block)
    codes.set(block, found)
  }
  return found
}

function innerCodes(block: Node): readonly [number, Node][] {
  if (block.isTextblock || block.isLeaf) return NONE
  const found: [number, Node][] = []
  block.forEach((child, at) => found.push(...codesIn(child).map(([inner, node]): [number, Node] => [at + 1 + inner, node])))
  return found.length ? found : NONE
}

/** The first word behind the fence of code. */
export const languageOf = (node: Node) => String(node.attrs['language'] ?? '').split(/[\s{,:]/)[0]!.toLowerCase()

function decorations(doc: Node): DecorationSet {
  const found: Decoration[] = []
  doc.forEach((block, at) => {
    for (const [inner, node] of codesIn(block))
      for (const [from, to, name] of spansOf(node))
        found.push(Decoration.inline(at + inner + 1 + from, at + inner + 1 + to, { class: name }))
  })
  return found.length ? DecorationSet.create(doc, found) : DecorationSet.empty
}

function spansOf(node: Node): Span[] {
  if (!languages) return []
  let spans = known.get(node)
  if (!spans) {
    spans = spansIn(node, languages)
    known.set(node, spans)
  }
  return spans
}

function spansIn(node: Node, { registered, highlight }: Languages): Span[] {
  const language = languageOf(node)
  if (!registered(language) || node.textContent.length > LONGEST) return []
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
  walk(highlight(language, node.textContent) as Tree, '')
  return spans
}

interface Tree {
  type: string
  value?: string
  properties?: { className?: string[] }
  children?: Tree[]
}
