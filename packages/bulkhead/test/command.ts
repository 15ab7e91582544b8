import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { BUNDLED } from './bundled.ts'
import { CACHE } from './cache.ts'
import { NO_NPM } from './no-npm.ts'

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs the command in a process, without a terminal. Its environment is `more`, and a cache of this test run. `node`:
 * arguments of Node.
 */
export async function bulkhead(
  args: readonly string[], cwd: string, more: NodeJS.ProcessEnv = {}, node = BUNDLED,
): Promise<Ran> {
  const child = spawn(process.execPath, [...node, join(import.meta.dirname, '../src/bin.ts'), ...args], {
    cwd,
    env: {
      NO_COLOR: '1', HOME: join(cwd, 'home'), XDG_CACHE_HOME: CACHE,
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...NO_NPM, ...more,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => { stdout += text })
  child.stderr.setEncoding('utf8').on('data', (text: string) => { stderr += text })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr }
}
