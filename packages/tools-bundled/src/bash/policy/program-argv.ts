import { type CallNeed, ToolError } from '@bulkhead/contract'
import type { Stage } from '../parse/plan.ts'

/** Uses `env` for variables and for programs with a path, because the broker starts programs by bare name only. */
export function programArgv({ assignments }: Stage, argv: readonly string[]): readonly string[] {
  const program = argv[0]!
  if (assignments.length === 0 && !program.includes('/')) return argv
  if (program.includes('=')) {
    const why = `The program name "${program}" contains "=".`
    throw new ToolError('InputInvalid', `${why} Such a program cannot run by path or with variables.`)
  }
  return ['env', '--', ...assignments.map(([name, value]) => `${name}=${value}`), ...argv]
}

/** The capability that a stage requires. Patterns count as they are written. */
export function programNeed(stage: Stage): CallNeed {
  const { assignments, words } = stage
  const isNamed = assignments.length === 0 && !words[0]!.text.includes('/')
  if (!isNamed && words[0]!.text.includes('=')) return { kind: 'shell', subject: 'env' }
  const [program, ...args] = programArgv(stage, words.map(({ text }) => text))
  return { kind: 'shell', subject: program!, args }
}
