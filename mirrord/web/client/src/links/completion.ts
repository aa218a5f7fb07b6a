// `[[` opens a list of pages; `[[Page]]` becomes a link as it is typed, `![[…]]` an embed.
import { Extension, InputRule } from '@tiptap/core'
import { PluginKey } from '@tiptap/pm/state'
import { Suggestion } from '@tiptap/suggestion'
import { menu } from '../menus/menu'
import type { Completion, Options } from '../options'
import { EDITOR } from '../words'

const KEY = new PluginKey('mirrordCompletion')
const TYPED = /(!?)\[\[([^[\]|#\n]*)(?:#([^[\]|\n]*))?(?:\|([^[\]\n]*))?\]\]$/
const STILL = 80 // ms without typing before pages are asked for

/** Completes wikilinks with the pages that *options* finds. */
export function completing(options: Options): Extension {
  return Extension.create({
    name: 'mirrordCompletion',
    addInputRules: () => [typedOut()],
    addProseMirrorPlugins() {
      return [
        Suggestion<Completion, Completion>({
          editor: this.editor,
          pluginKey: KEY,
          char: '[[',
          allowSpaces: true,
          allowedPrefixes: null,
          debounce: STILL,
          allow: ({ state }) => !state.selection.$from.parent.type.spec.code,
          items: ({ query }) => options.complete(query).catch(() => []),
          command: ({ editor, range, props }) => {
            const isEmbed = editor.state.doc.textBetween(Math.max(0, range.from - 1), range.from) === '!'
            const from = isEmbed ? range.from - 1 : range.from
            const node = { type: isEmbed ? 'embed' : 'wikilink', attrs: { target: props.target } }
            editor.chain().focus().insertContentAt({ from, to: range.to }, node).run()
          },
          render: () => menu<Completion>(EDITOR.pages, ({ icon, title, path }) => ({ sign: icon ?? '', label: title, detail: path })),
        }),
      ]
    },
  })
}

function typedOut(): InputRule {
  return new InputRule({
    find: TYPED,
    handler: ({ state, range, match }) => {
      const [, sign, target, heading, alias] = match
      if (!target && !heading) return null
      const type = state.schema.nodes[sign ? 'embed' : 'wikilink']!
      const attrs = { target: target ?? '', heading: heading || null, alias: alias || null }
      state.tr.replaceRangeWith(range.from, range.to, type.create(attrs))
      return undefined
    },
  })
}
