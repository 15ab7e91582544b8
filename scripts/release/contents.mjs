import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, matchesGlob } from 'node:path'

/**
 * @typedef {object} PackedManifest
 * @property {string} name
 * @property {string} version
 * @property {unknown} [exports]
 * @property {string[]} [files]
 * @property {string | Record<string, string>} [bin]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [peerDependencies]
 * @property {Record<string, string>} [optionalDependencies]
 * @property {Record<string, string>} [devDependencies]
 */

/**
 * Checks the files and the manifest of an unpacked tarball.
 * @param {string} folder
 * @returns {{ manifest: PackedManifest, files: string[], problems: string[] }}
 */
export function inspectContents(folder) {
  /** @type {PackedManifest} */
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const files = globSync('**', { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
  const problems = [
    ...files.flatMap(strayFile),
    ...targetsOf(manifest.exports).flatMap((target) => missingTarget(folder, target)),
    ...executablesOf(manifest).flatMap((target) => badExecutable(folder, target)),
    ...unpublishableVersions(manifest),
    ...files.filter((file) => file.endsWith('.js')).flatMap((file) => sourceUrls(folder, file)),
    ...(manifest.files ?? []).flatMap((name) => missingFiles(files, name)),
    ...files.filter((file) => file.endsWith('.md') || file === 'llms.txt').flatMap((file) => deadLinks(folder, file)),
  ]
  return { manifest, files, problems }
}

/**
 * @param {string} file
 * @returns {string[]}
 */
function strayFile(file) {
  // Data beside the sources is published as it is.
  if (/^(src|test|scripts)\//.test(file) && !/^src\/[^/]+\/[^/]+\.yaml$/.test(file)) return [`${file} is packed although it belongs to the workspace only`]
  if (/\.test\./.test(file)) return [`${file} is a test and is packed`]
  return /(?<!\.d)\.ts$/.test(file) ? [`${file} is a TypeScript source, which Node refuses to run from node_modules`] : []
}

/**
 * @param {unknown} exports
 * @returns {string[]} every path in it, under all conditions
 */
function targetsOf(exports) {
  if (typeof exports === 'string') return [exports]
  return typeof exports === 'object' && exports !== null ? Object.values(exports).flatMap(targetsOf) : []
}

/**
 * @param {string} folder
 * @param {string} target
 * @returns {string[]}
 */
function missingTarget(folder, target) {
  const found = target.includes('*') ? globSync(target, { cwd: folder }).length > 0 : existsSync(join(folder, target))
  return found ? [] : [`exports names ${target}, which is not in the package (was it built?)`]
}

/**
 * @param {string[]} files
 * @param {string} name
 * @returns {string[]}
 */
function missingFiles(files, name) {
  return files.some((file) => file === name || file.startsWith(`${name}/`) || matchesGlob(file, name)) ? [] : [`files names ${name}, which is not in the package (was it built?)`]
}

/**
 * @param {PackedManifest} manifest
 * @returns {string[]}
 */
function executablesOf({ bin = {} }) {
  return typeof bin === 'string' ? [bin] : Object.values(bin)
}

/**
 * @param {string} folder
 * @param {string} target
 * @returns {string[]}
 */
function badExecutable(folder, target) {
  if (!existsSync(join(folder, target))) return [`bin names ${target}, which is not in the package (was it built?)`]
  const startsNode = readFileSync(join(folder, target), 'utf8').startsWith('#!/usr/bin/env node\n')
  return startsNode ? [] : [`${target} is a bin and does not begin with #!/usr/bin/env node`]
}

/**
 * @param {PackedManifest} manifest
 * @returns {string[]}
 */
function unpublishableVersions({ dependencies, peerDependencies, optionalDependencies, devDependencies }) {
  return Object.entries({ ...devDependencies, ...dependencies, ...peerDependencies, ...optionalDependencies })
    .filter(([, version]) => /^(workspace|catalog|link|file):/.test(version))
    .map(([name, version]) => `the dependency ${name} is left as ${version}, which means nothing outside the workspace`)
}

/**
 * A registry shows only the files of the package, so links to other files of the workspace are broken there.
 * @param {string} folder
 * @param {string} file
 * @returns {string[]}
 */
function deadLinks(folder, file) {
  const targets = [...readFileSync(join(folder, file), 'utf8').matchAll(/\]\(([^)#\s]+)/g)].map(([, target]) => /** @type {string} */ (target))
  return targets
    .filter((target) => !/^[a-z]+:/.test(target) && !(existsSync(join(folder, dirname(file), target)) && !join(dirname(file), target).startsWith('..')))
    .map((target) => `${file} links to ${target}, which is not in the package`)
}

/**
 * A published package has no `.ts` files. tsdown.shared.ts rewrites URLs to them.
 * @param {string} folder
 * @param {string} file
 * @returns {string[]}
 */
function sourceUrls(folder, file) {
  const [found] = /['"`][^'"`\n]*\.ts['"`]\s*,\s*import\.meta\.url/.exec(readFileSync(join(folder, file), 'utf8')) ?? []
  return found === undefined ? [] : [`${file} refers to a source file by URL: ${found}`]
}
