// Elements in the document of what was copied: a picture that came into the page's own document would be loaded.

/** An element in the document of *near*. */
export function made(near: Node, name: string, attributes: Record<string, string> = {}): HTMLElement {
  const element = near.ownerDocument!.createElement(name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  return element
}
