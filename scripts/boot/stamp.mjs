import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readManifest, workspaceFolders } from './workspace.mjs'

/**
 * The stamp says for which state of the workspace the installed packages are whole. Contract: it is removed before anything
 * is installed and written only after everything succeeded, so an interrupted setup is never taken for a finished one.
 * @param {string} root
 * @returns {string}
 */
const stampFile = (root) => join(root, 'node_modules', '.bulkhead-setup')

/**
 * Everything that decides what `pnpm install` would put on this machine.
 * @param {string} root
 * @returns {string}
 */
export function fingerprint(root) {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}\n`)
  const manifests = ['.', ...workspaceFolders(root)].map((folder) => join(folder, 'package.json'))
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', ...manifests]) {
    const content = readFileSync(join(root, file))
    hash.update(`${file} ${content.length}\n`).update(content)
  }
  return hash.digest('hex')
}

/**
 * @param {string} root
 * @param {string} pnpm the path of the pnpm that scripts will use
 * @returns {boolean}
 */
export function isSetUp(root, pnpm) {
  const stamp = stampFile(root)
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== fingerprint(root)) return false
  return existsSync(pnpm) && expectedPaths(root).every((path) => existsSync(join(root, path)))
}

/**
 * What someone may have deleted since: the tools that every script starts with, and each package's links.
 * @param {string} root
 * @returns {string[]}
 */
function expectedPaths(root) {
  const linked = workspaceFolders(root).filter((folder) => {
    const { dependencies = {}, devDependencies = {} } = readManifest(join(root, folder))
    return Object.keys({ ...dependencies, ...devDependencies }).length > 0
  })
  return ['node_modules/.bin/node', 'node_modules/.bin/turbo', ...linked.map((folder) => `${folder}/node_modules`)]
}

/** @param {string} root */
export function removeStamp(root) {
  rmSync(stampFile(root), { force: true })
}

/**
 * @param {string} root
 * @param {string} value the fingerprint taken before the install, so that an edit made meanwhile is noticed next time
 */
export function writeStamp(root, value) {
  writeFileSync(`${stampFile(root)}.next`, value)
  renameSync(`${stampFile(root)}.next`, stampFile(root))
}
