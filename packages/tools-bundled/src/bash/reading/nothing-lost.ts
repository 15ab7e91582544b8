import type { ParsedScript, SyntaxNode } from 'unbash'
import { forEachChild } from 'unbash'

/** What may stand between the words of a plan: blanks, comments, and the operators that a plan has. */
const BETWEEN = /^(?:[ \t\n;]|\\\n|&&|\|\||\|&|\||#[^\n]*)*$/

/**
 * Whether every character of a text is accounted for. The parser forgives, and may leave out what it does not expect without
 * saying so; then it would be run without it.
 */
export function nothingLost(text: string, script: ParsedScript): boolean {
  const rest = Array.from({ length: text.length }, (_, index) => text[index]!)
  const take = ({ pos, end }: { readonly pos: number; readonly end: number }): void => void rest.fill(' ', pos, end)
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
        return take(node)
      default:
        forEachChild(node, visit)
    }
  }
  visit(script)
  return BETWEEN.test(rest.join(''))
}
