import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * A process by number and moment of birth, because numbers are used again after a restart.
 * @typedef {{ pid: number, born: string }} ProcessIdentity
 */

/**
 * @param {number} pid
 * @returns {ProcessIdentity}
 */
export function identityOf(pid) {
  return { pid, born: birthOf(pid) ?? '' }
}

/**
 * @param {ProcessIdentity} identity
 * @returns {boolean} false only when that process has certainly ended
 */
export function isRunning({ pid, born }) {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it exists and belongs to someone else.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false
  }
  const now = birthOf(pid)
  return now !== undefined && (born === '' || now === '' || born === now)
}

/**
 * @param {number} pid
 * @returns {string | undefined} undefined: it has ended; an empty string: this system does not say
 */
function birthOf(pid) {
  if (process.platform === 'linux') {
    try {
      // The name in parentheses may itself hold spaces and parentheses, so fields are counted from its end.
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      const [state] = fields
      return state === 'Z' || state === 'X' ? undefined : fields[19]
    } catch {
      return ''
    }
  }
  const { status, stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : ''
}
