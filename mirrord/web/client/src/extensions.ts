// The extensions of the editor: the schema of pages, its views, and rules for typing.
import { type AnyExtension, Extension, Node, type NodeViewRenderer } from '@tiptap/core'
import type { Plugin } from '@tiptap/pm/state'
import { Below } from './typing/below'
import { Cells } from './tables/cells'
import { Clashing } from './saving/clash'
import { completing } from './links/completion'
import { Diagrams } from './diagrams/view'
import { Highlighting } from './views/highlighting'
import { Ids } from './document/ids'
import { Keys } from './typing/keys'
import { Linking } from './links/linking'
import type { Options } from './options'
import { extensions } from './document/schema.js'
import { pasting } from './pasting/paste'
import { places } from './pasting/places'
import { Slash } from './menus/slash'
import { Tabs } from './typing/tabs'
import { Tasks } from './typing/tasks'
import { Toggles } from './typing/toggles'
import { Typing } from './typing/typing'
import { UnresolvedLinks } from './links/unresolved'
import { dropping } from './pasting/uploads'

// Our views replace those of TipTap for these nodes.
const REPLACED = ['details', 'detailsContent']

/** The extensions of an editor with the views of *looks*; *tell* shows failures to a person. */
export function extensionsFor(options: Options, looks: Plugin, tell: (sentence: string) => void): AnyExtension[] {
  const plugins = [looks, places(), dropping(options, tell)]
  return [
    ...(extensions as AnyExtension[]).map(bare),
    Extension.create({ name: 'mirrordLooks', addProseMirrorPlugins: () => plugins }),
    ...[Ids, Clashing, Diagrams, Highlighting, UnresolvedLinks, Keys, Linking, Cells, Toggles, Below, Tabs, Typing],
    // The menus of the last ones take Tab and Enter first.
    ...[Slash, Tasks, completing(options), pasting(options, tell)],
  ]
}

function bare(extension: AnyExtension): AnyExtension {
  if (extension instanceof Node && extension.name === 'taskItem') return extension.extend({ addNodeView: boxOffTheWay })
  if (extension.name === 'tableKit') return extension.configure({ table: { View: null } })
  const isReplaced = extension instanceof Node && REPLACED.includes(extension.name)
  return isReplaced ? extension.extend({ addNodeView: () => null }) : extension
}

/** The view of a task, the box of which is no stop for Tab: Ctrl+Enter ticks it. */
function boxOffTheWay(this: { parent?: (() => NodeViewRenderer | null) | null }): NodeViewRenderer | null {
  const draw = this.parent?.()
  if (!draw) return null
  return (props) => {
    const view = draw(props)
    ;(view.dom as HTMLElement).querySelector('input')!.tabIndex = -1
    return view
  }
}
