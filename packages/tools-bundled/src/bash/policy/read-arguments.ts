import type { ArgumentsReader } from '@bulkhead/contract'
import { insidePath } from './ground.ts'
import { judgeCommand } from './judge-command.ts'

/** For the host: what a call of `bash` stands for. */
export const readBashArguments: ArgumentsReader = (args, { workspace, neverWritten }) => {
  const { command, cwd } = args
  const folder = typeof cwd === 'string' ? insidePath(cwd, { workspace, folder: '.' }) : '.'
  const { judgement } = judgeCommand(typeof command === 'string' ? command : '', { workspace, folder: folder ?? '.', ...(neverWritten && { neverWritten }) })
  if (folder !== undefined) return judgement
  return { ...judgement, denies: [...judgement.denies, `the folder ${String(cwd)} lies outside the workspace`] }
}
