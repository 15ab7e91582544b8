import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import type { Runner, Side } from '../../harness/subject.ts'
import { FILES, NEEDLES, NOTES, shareGround, TREE } from './ground.ts'

/** ripgrep as a program would start it, its lines counted. */
async function countLines(args: readonly string[], cwd: string): Promise<number> {
  const child = spawn(rgPath, [...args], { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
  let lines = 0
  child.stdout.on('data', (bytes: Buffer) => {
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lines++
  })
  const [code] = await once(child, 'close') as [number]
  if (code !== 0) throw new Error(`ripgrep exited with code ${code}`)
  return lines
}

const bare = <const Name extends string>(name: Name, args: readonly string[], lines: number) => ({
  name,
  answer: () => lines,
  start: async (): Promise<Runner> => {
    const { workspace, release } = await shareGround()
    return { run: () => countLines(args, join(workspace, TREE)), stop: release }
  },
}) as const satisfies Side

const tool = <const Name extends string>(name: Name, args: unknown, total: number) => ({
  name,
  answer: () => total,
  start: async (): Promise<Runner> => {
    const { call, release } = await shareGround()
    return { run: async () => ((await call(name, args)) as { readonly total: number }).total, stop: release }
  },
}) as const satisfies Side

export const bareSearch = bare('bare rg', ['needle', './'], NEEDLES)
export const bareList = bare('rg --files', ['--files', './'], FILES)
export const grepTool = tool('grep', { pattern: 'needle', path: TREE }, NEEDLES)
export const globTool = tool('glob', { pattern: '**/*.md', path: TREE }, NOTES)
