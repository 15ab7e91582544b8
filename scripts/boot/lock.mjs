import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { identityOf, isRunning } from './process-identity.mjs'

/** @import { ProcessIdentity } from './process-identity.mjs' */

const POLL_MS = 150

// Creating a file and filling it are two steps: one that is still empty after this long was left by a process that died between.
const UNFINISHED_MS = 5_000

/**
 * @typedef {object} Lock
 * @property {(pid: number) => void} include a child whose work must end before the lock counts as abandoned
 * @property {() => void} release
 */

/**
 * Waits until this process alone may change what the file stands for. A lock whose owner died is taken over, but only after
 * the child it had started ended as well: a package manager goes on when its parent is killed.
 * @param {string} file
 * @param {(pid: number | undefined) => void} onWait called once, before waiting for someone else
 * @returns {Promise<Lock>}
 */
export async function acquireLock(file, onWait) {
  mkdirSync(dirname(file), { recursive: true })
  const owner = identityOf(process.pid)
  for (let told = false; !createExclusively(file, JSON.stringify([owner])); ) {
    const text = readIfThere(file)
    if (text === undefined) continue
    const holder = runningHolder(file, text)
    if (holder === undefined && removeAbandoned(file, text)) continue
    if (!told && holder !== undefined) onWait(holder.pid || undefined)
    told ||= holder !== undefined
    await pause(POLL_MS)
  }
  return {
    include(pid) {
      writeFileSync(`${file}.next`, JSON.stringify([owner, identityOf(pid)]))
      renameSync(`${file}.next`, file)
    },
    release: () => rmSync(file, { force: true }),
  }
}

/**
 * @param {string} file
 * @param {string} text its content
 * @returns {ProcessIdentity | undefined} pid 0: someone who has not signed yet
 */
function runningHolder(file, text) {
  try {
    /** @type {ProcessIdentity[]} */
    const holders = JSON.parse(text)
    return holders.find(isRunning)
  } catch {
    return ageOf(file) < UNFINISHED_MS ? { pid: 0, born: '' } : undefined
  }
}

/**
 * Two processes may find the same lock abandoned. Only the one that holds the guard removes it, and only if it is still the
 * one that was judged: otherwise the slower of them would remove the faster one's new lock.
 * @param {string} file
 * @param {string} judged
 * @returns {boolean} whether it is worth trying again at once
 */
function removeAbandoned(file, judged) {
  const guard = `${file}.takeover`
  if (!createExclusively(guard, '')) {
    if (ageOf(guard) > UNFINISHED_MS) rmSync(guard, { force: true })
    return false
  }
  try {
    if (readIfThere(file) === judged) rmSync(file, { force: true })
  } finally {
    rmSync(guard, { force: true })
  }
  return true
}

/**
 * @param {string} file
 * @param {string} text
 * @returns {boolean} false when it was there already
 */
function createExclusively(file, text) {
  try {
    writeFileSync(file, text, { flag: 'wx' })
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}

/**
 * @param {string} file
 * @returns {string | undefined}
 */
function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/**
 * @param {string} file
 * @returns {number} 0 when it is gone: whoever asks will look again
 */
function ageOf(file) {
  const found = statSync(file, { throwIfNoEntry: false })
  return found ? Date.now() - found.mtimeMs : 0
}

/**
 * @param {unknown} error
 * @param {string} code
 * @returns {boolean}
 */
function hasCode(error, code) {
  return error instanceof Error && 'code' in error && error.code === code
}
