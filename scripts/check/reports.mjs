import { globSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** @import { PackageTests } from './summary.mjs' */

/**
 * @param {string} root
 * @returns {{ name: string, folder: string, report: string }[]} every package that has tests, and where its report goes
 */
export function testedPackages(root) {
  return globSync('{packages/*,apps/*,bench}/package.json', { cwd: root }).toSorted().flatMap((file) => {
    const { name, scripts } = JSON.parse(readFileSync(join(root, file), 'utf8'))
    const folder = join(root, dirname(file))
    return scripts?.test === undefined ? [] : [{ name, folder, report: join(folder, 'reports', 'tests.json') }]
  })
}

/**
 * Removes the reports of earlier runs. A report found later is from this run, or turbo restored it for unchanged inputs.
 * @param {string} root
 */
export function removeReports(root) {
  for (const { report } of testedPackages(root)) rmSync(dirname(report), { recursive: true, force: true })
}

/**
 * @param {string} root
 * @returns {PackageTests[]}
 */
export function readReports(root) {
  return testedPackages(root).map(({ name, report }) => ({ name, report: readReport(report) }))
}

/**
 * @param {string} file
 * @returns {PackageTests['report']} undefined when it is missing or cut off
 */
export function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}
