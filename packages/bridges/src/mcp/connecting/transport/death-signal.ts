import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'

const PLACES = ['/usr/bin/setpriv', '/bin/setpriv', '/usr/sbin/setpriv']
const OPTIONS = ['--pdeathsig', 'KILL', '--']

let found: Promise<readonly string[]> | undefined

/** What to put before a command so that the system kills it when this process is killed; nothing where the system cannot. */
export function deathSignal(): Promise<readonly string[]> {
  found ??= find()
  return found
}

async function find(): Promise<readonly string[]> {
  const path = process.platform === 'linux' ? PLACES.find((place) => existsSync(place)) : undefined
  return path !== undefined && await knowsOptions(path) ? [path, ...OPTIONS] : []
}

/** There is more than one program of this name. */
function knowsOptions(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(path, [...OPTIONS, path, '--version'], { cwd: '/', env: {}, stdio: 'ignore' })
    child.once('error', () => resolve(false))
    child.once('exit', (code) => resolve(code === 0))
  })
}
