import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { readManifest, workspaceFolders } from '../boot/workspace.mjs'

/** @import { PackageTests } from './summary.mjs' */

/**
 * @param {string} root
 * @returns {{ name: string, folder: string }[]} every package that has tests
 */
function testedPackages(root) {
  return workspaceFolders(root)
    .map((folder) => ({ folder: join(root, folder), manifest: readManifest(join(root, folder)) }))
    .filter(({ manifest }) => manifest.scripts?.['test'] !== undefined)
    .map(({ folder, manifest }) => ({ folder, name: manifest.name ?? folder }))
}

/**
 * Removes the reports of earlier runs, so that each one found afterwards was written by this run, or put back by turbo for a
 * package whose tests passed with the very same inputs.
 * @param {string} root
 */
export function removeReports(root) {
  for (const { folder } of testedPackages(root)) rmSync(join(folder, 'reports'), { recursive: true, force: true })
}

/**
 * @param {string} root
 * @returns {PackageTests[]}
 */
export function readReports(root) {
  return testedPackages(root).map(({ name, folder }) => ({ name, report: readReport(join(folder, 'reports', 'tests.json')) }))
}

/**
 * @param {string} file
 * @returns {PackageTests['report']} undefined when it is missing or cut off
 */
function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}
