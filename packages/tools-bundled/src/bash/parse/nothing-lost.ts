import type { Script, SyntaxNode } from 'unbash'
import { forEachChild } from 'unbash'

/** What may stand between the words of a plan: blanks, comments, and the operators that a plan has. Each text is read in one way only. */
const BETWEEN = /^(?:[ \t\n;]|\\\n|&&|\|&?|#[^\n]*(?:\n|$))*$/
/** Of a plan that only reads, also the words of its further forms. */
const BETWEEN_READING = /^(?:[ \t\n;()]|\\\n|&&|\|&?|#[^\n]*(?:\n|$)|\b(?:for|in|do|done|while|time)\b)*$/

interface Part {
  readonly pos: number
  readonly end: number
  readonly reading: boolean
}

/**
 * Whether every character of a text is accounted for. The parser forgives, and may leave out what it does not expect without
 * saying so; then it would be run without it.
 */
export function nothingLost(text: string, script: Script, { pos, end, reading }: Part = { pos: 0, end: text.length, reading: false }): boolean {
  const rest = Array.from({ length: text.length }, (_, index) => text[index]!)
  const take = (node: { readonly pos: number; readonly end: number }): void => void rest.fill(' ', node.pos, node.end)
  const visit = (node: SyntaxNode): void => {
    switch (node.type) {
      case 'HereDoc':
        take(node)
        take(node.body)
        if (node.closing !== undefined) take(node.closing)
        return
      case 'Word':
      case 'Assignment':
      case 'Redirect':
      case 'HereString':
      case 'Negation':
      case 'TestCommand':
        return take(node)
      default:
        forEachChild(node, visit)
    }
  }
  visit({ errors: undefined, ...script })
  return (reading ? BETWEEN_READING : BETWEEN).test(rest.slice(pos, end).join(''))
}
