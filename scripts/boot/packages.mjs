import { join } from 'node:path'
import { runChild } from './child.mjs'
import { failureOf, Interrupted } from './failure.mjs'
import { say } from './say.mjs'

/**
 * Installs exactly what pnpm-lock.yaml says. pnpm repairs what an interrupted install left.
 * @param {string} root
 * @param {string} pnpm
 * @param {{ env: NodeJS.ProcessEnv, onStart: (pid: number) => void }} options
 */
export async function installPackages(root, pnpm, { env, onStart }) {
  say('Installing the workspace’s packages and its own Node (the first time takes a minute or so) …')
  const ended = await runChild(pnpm, ['install', '--frozen-lockfile'], { cwd: root, env, capture: true, onStart })
  if (ended.interruptedBy) throw new Interrupted(ended.interruptedBy)
  if (ended.code !== 0) {
    throw failureOf(
      'The packages could not be installed',
      ended.output,
      `delete ${join(root, 'node_modules')} and run the same command again.`,
    )
  }
}
