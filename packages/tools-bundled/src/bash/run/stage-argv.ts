import { type CallNeed, type FileReader, type ShellStage, type ShellTarget, ToolError } from '@bulkhead/contract'
import type { Stage, Target, Word } from '../parse/plan.ts'
import { expandPattern } from './file-names.ts'

/** The command to start for a stage, with all patterns expanded. */
export async function stageCommand(stage: Stage, folder: string, fs: Pick<FileReader, 'list'>): Promise<ShellStage> {
  const [cmd, ...args] = programAndArguments(stage, await expandWords(stage.words, folder, fs))
  const { stdin } = stage
  return {
    cmd: cmd!,
    args,
    stdout: targetOf(stage.stdout),
    stderr: targetOf(stage.stderr),
    ...(stdin === undefined ? {} : { input: 'file' in stdin ? { path: stdin.file } : stdin.text }),
  }
}

/** Uses `env` for variables and for programs with a path, because the broker starts programs by bare name only. */
function programAndArguments({ assignments }: Stage, argv: readonly string[]): readonly string[] {
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
  const [program, ...args] = programAndArguments(stage, words.map(({ text }) => text))
  return { kind: 'shell', subject: program!, args }
}

async function expandWords(
  words: readonly Word[], folder: string, fs: Pick<FileReader, 'list'>,
): Promise<readonly string[]> {
  const argv: string[] = []
  for (const word of words) {
    if (word.pattern === undefined) argv.push(word.text)
    else {
      for (const path of await expandPattern(word, folder, fs)) {
        if (path.startsWith('-')) {
          const what = `The pattern ${word.text} matches the file "${path}", which looks like an option.`
          throw new ToolError('InputInvalid', `${what} Write ./${word.text} instead.`)
        }
        argv.push(path)
      }
    }
  }
  return argv
}

const targetOf = (target: Target): ShellTarget =>
  typeof target === 'string' ? target : { path: target.file, append: target.append }
