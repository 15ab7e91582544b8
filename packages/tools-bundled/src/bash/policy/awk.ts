import type { Word } from '../parse/plan.ts'
import { knownUse, type KnownUse, type OptionList } from './option-list.ts'

const AWK: OptionList = { values: { '-F': 'text', '-v': 'text' }, operands: 'text-then-paths' }

/** Words by which a program of its language runs others, reads or writes files, or names other files to read. */
const EFFECTS = /\b(?:system|getline|close|ARGV|ARGC|ARGIND|PROCINFO|SYMTAB|FUNCTAB|extension)\b/
/** Other code, indirect calls, and a line that goes on in the next one. */
const ODD = /@|\\\n|\r/

/** Undefined unless its program only computes and prints. */
export function awkUse(args: readonly Word[]): KnownUse | undefined {
  const use = knownUse(args, AWK)
  return use?.scripts !== undefined && use.scripts.every(isReadingProgram) ? use : undefined
}

/**
 * Judged by its characters, also those in its texts: too much is refused rather than too little. Output goes elsewhere by `>`
 * and `|` inside of braces only; before the first brace these compare, or stand in a regular expression.
 */
export function isReadingProgram(program: string): boolean {
  const brace = program.indexOf('{')
  const actions = brace < 0 ? '' : program.slice(brace).replaceAll('||', '').replaceAll('>=', '')
  return !EFFECTS.test(program) && !ODD.test(program) && !/[>|]/.test(actions)
}
