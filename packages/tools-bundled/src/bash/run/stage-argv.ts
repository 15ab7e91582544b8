import { type FileReader, type ShellStage, type ShellTarget, ToolError } from '@bulkhead/contract'
import type { Stage, Target, Word } from '../parse/plan.ts'
import { programArgv } from '../policy/program-argv.ts'
import { expandPattern } from './file-names.ts'

/** The command to start for a stage, with all patterns expanded. */
export async function stageCommand(stage: Stage, folder: string, fs: Pick<FileReader, 'list'>): Promise<ShellStage> {
  const [cmd, ...args] = programArgv(stage, await expandWords(stage.words, folder, fs))
  const { stdin } = stage
  return {
    cmd: cmd!,
    args,
    stdout: targetOf(stage.stdout),
    stderr: targetOf(stage.stderr),
    ...(stdin === undefined ? {} : { input: 'file' in stdin ? { path: stdin.file } : stdin.text }),
  }
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
