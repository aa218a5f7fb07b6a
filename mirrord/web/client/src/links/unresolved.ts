// Links to pages that do not exist look different from those that lead somewhere.
import { Extension } from '@tiptap/core'
import type { Node } from '@tiptap/pm/model'
import { Plugin, PluginKey } from '@tiptap/pm/state'
import { Decoration, DecorationSet, type EditorView } from '@tiptap/pm/view'
import type { Unresolved } from '../options'

const KEY = new PluginKey<DecorationSet>('mirrordUnresolved')
const LOOK = { class: 'unresolved' }

export const UnresolvedLinks = Extension.create({
  name: 'mirrordUnresolved',
  addProseMirrorPlugins: () => [
    new Plugin<DecorationSet>({
      key: KEY,
      state: {
        init: () => DecorationSet.empty,
        apply(transaction, now) {
          const links = transaction.getMeta(KEY) as Unresolved[] | undefined
          if (links) return decorations(transaction.doc, links)
          return transaction.docChanged ? now.map(transaction.mapping, transaction.doc) : now
        },
      },
      props: { decorations: (state) => KEY.getState(state) },
    }),
  ],
})

/** Shows these links, as the page has them, as leading nowhere. */
export function showUnresolved(view: EditorView, links: Unresolved[]): void {
  const isNews = links.length > 0 || KEY.getState(view.state) !== DecorationSet.empty
  if (isNews) view.dispatch(view.state.tr.setMeta(KEY, links).setMeta('addToHistory', false))
}

function decorations(doc: Node, links: Unresolved[]): DecorationSet {
  if (!links.length) return DecorationSet.empty
  const keys = new Set(links.map(({ kind, target }) => `${kind} ${target}`))
  const shown: Decoration[] = []
  doc.descendants((node, at) => {
    const { name } = node.type
    if (name === 'wikilink' || name === 'embed') {
      if (keys.has(`${name} ${String(node.attrs['target'])}`)) shown.push(Decoration.node(at, at + node.nodeSize, LOOK))
    } else if (node.isText && keys.has(`markdown ${pathOf(node)}`))
      shown.push(Decoration.inline(at, at + node.nodeSize, LOOK))
  })
  return DecorationSet.create(doc, shown)
}

/** The path that the link of a text leads to. */
function pathOf(text: Node): string {
  const [path] = String(text.marks.find(({ type }) => type.name === 'link')?.attrs['href'] ?? '').split('#')
  try {
    return decodeURIComponent(path!)
  } catch {
    return path!
  }
}
