import { createRequire } from 'node:module'
import { headChars, programModule } from './program-files.ts'

let loaded: typeof import('acorn') | undefined

/** The JavaScript parser, loaded on first use. Synchronous, because arguments are read synchronously. */
export function parser(): typeof import('acorn') {
  loaded ??= createRequire(import.meta.url)('acorn') as typeof import('acorn')
  return loaded
}

/** A position in a program. Both numbers start at 1. */
export type CodePosition = {
  readonly line: number
  readonly column: number
}

/**
 * Where a program that the engine rejected has its syntax error: V8 does not tell. undefined if this parser accepts it.
 */
export function locateSyntaxError(code: string, callsTools: boolean): CodePosition | undefined {
  try {
    parser().parse(programModule(code, callsTools), { ecmaVersion: 'latest', sourceType: 'module' })
    return undefined
  } catch (thrown) {
    const { loc } = thrown as { readonly loc?: { readonly line: number; readonly column: number } }
    if (loc === undefined) return undefined
    // The end of the program is one line after its last one.
    const lines = code.split('\n').length
    if (loc.line > lines) return { line: lines, column: 1 }
    return inProgram({ line: loc.line, column: loc.column + 1 }, callsTools)
  }
}

/** A position of the module, in the program. The head of the module is on its first line. */
export const inProgram = ({ line, column }: CodePosition, callsTools: boolean): CodePosition =>
  ({ line, column: line === 1 ? Math.max(column - headChars(callsTools), 1) : column })
