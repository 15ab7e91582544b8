import { styleText } from 'node:util'

export type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow'
export type Paint = (style: Style, text: string) => string

/** Colours where the stream shows them: not in a pipe or a file, and not when NO_COLOR is set. */
export function painterFor(stream: NodeJS.WritableStream): Paint {
  return (style, text) => styleText(style, text, { stream, validateStream: true })
}
