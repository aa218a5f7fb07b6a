// `/` at the beginning of a word opens a menu of insertions.
import { Extension } from '@tiptap/core'
import { PluginKey } from '@tiptap/pm/state'
import { Suggestion } from '@tiptap/suggestion'
import { type Action, BLOCKS, INSERTIONS } from './actions'
import { menu } from './menu'

const KEY = new PluginKey('mirrordSlash')
const ALL = [...BLOCKS, ...INSERTIONS]

const matching = (query: string) => ALL.filter(({ label }) => label.toLowerCase().includes(query.toLowerCase()))

export const Slash = Extension.create({
  name: 'mirrordSlash',
  addProseMirrorPlugins() {
    return [
      Suggestion<Action, Action>({
        editor: this.editor,
        pluginKey: KEY,
        char: '/',
        allowSpaces: true, // names contain spaces
        allow: ({ state }) => !state.selection.$from.parent.type.spec.code,
        items: ({ query }) => matching(query),
        command: ({ editor, range, props }) => {
          editor.chain().focus().deleteRange(range).run()
          props.run(editor)
        },
        render: () => menu<Action>('Insert', ({ sign, label, keys }) => ({ sign, label, detail: keys ?? '' })),
      }),
    ]
  },
})
