import { lstatSync, realpathSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { parseStrictJson } from '../files/json-file.ts'
import { readRegularFile, stampOf, type Stamp } from '../files/read-file.ts'
import { byteOrder, sha512 } from '../model/digest.ts'
import { LOADER_LIMITS } from '../model/limits.ts'
import { PACKAGE_FILE } from '../prove/check-manifest.ts'
import { foldersUp, isInside } from './outer-folders.ts'
import { findTsconfig } from './tsconfig.ts'

/** A file that a bundle was made of. */
export interface BundledFile {
  /** From the folder of the extension, with slashes. */
  readonly path: string
  /** sha512 of the bytes that were bundled, in hex. */
  readonly digest: string
}

/**
 * The files that a bundle may be made of: those of the folder, with its node_modules, and with a root those of declared
 * packages below the root. Code of others names the files, so each is checked by its real path. The bundler takes the
 * bytes from here, so that what was checked is what is bundled.
 */
export class BundledFiles {
  /** Real path of the folder of the extension. */
  readonly folder: string
  /** Real path of the outer folder of a monorepo. */
  readonly root: string | undefined
  readonly #admitted = new Set<string>()
  readonly #digests = new Map<string, string>()

  constructor(folder: string, root: string | undefined) {
    this.folder = realpathSync.native(folder)
    this.root = root === undefined ? undefined : outerFolder(root, this.folder)
  }

  /** The files that were read, in byte order of their paths. */
  list(): readonly BundledFile[] {
    return [...this.#digests].map(([path, digest]) => ({ path: this.shown(path), digest }))
      .toSorted((left, right) => byteOrder(left.path, right.path))
  }

  /** The names of the packages that the files which were read belong to, without that of the extension. */
  packages(): ReadonlySet<string> {
    const root = this.root ?? this.folder
    return new Set([...this.#digests.keys()].flatMap((path) => this.#packageOf(path, root)?.name ?? []))
  }

  /** Throws PackageUnsafe unless the bundle may contain the file that this module imports. */
  admit(path: string, importer: string | undefined): void {
    const real = realPathOf(path)
    const fault = this.#faultOf(real, importer === undefined ? this.folder : dirname(realPathOf(importer)))
    if (fault === undefined) this.#admitted.add(real)
    else if (importer === undefined) throw unsafe(`"${visibleText(real)}" ${fault}`)
    else throw unsafe(`"${visibleText(this.shown(importer))}" imports "${visibleText(real)}", which ${fault}`)
  }

  /** The bytes of an admitted file. Throws PackageUnsafe for another one. */
  read(path: string): Uint8Array {
    const real = realPathOf(path)
    const shown = `"${visibleText(real)}"`
    if (!this.#admitted.has(real)) throw unsafe(`${shown} is not a file that the code imports.`)
    const file = readRegularFile(real, { maxBytes: LOADER_LIMITS.fileBytes })
    if (!file.ok) throw unsafe(`${shown} ${file.message}.`)
    // A folder of the path may have become a link after it was admitted.
    if (realPathOf(path) !== real || !isSame(file.stamp, stampOf(lstatSync(real)))) {
      throw unsafe(`${shown} changed while it was read. Try again.`)
    }
    this.#digests.set(real, sha512(file.bytes))
    return file.bytes
  }

  /** The tsconfig.json for the bundle, if there is one. Throws PackageUnsafe if it includes a file outside. */
  tsconfig(): string | undefined {
    return findTsconfig(this.folder, this.root ?? this.folder)
  }

  /** A path of a file, from the folder, with `/` between segments. */
  shown(path: string): string {
    return relative(this.folder, path).replaceAll(sep, '/')
  }

  /** Why the bundle may not contain a file that is imported from a folder; undefined if it may. */
  #faultOf(real: string, from: string): string | undefined {
    if (isInside(real, this.folder)) return undefined
    const { root } = this
    if (root === undefined) return `is outside the folder of the extension. ${COPY} ${DECLARE}`
    if (!isInside(real, root)) return `is outside "${visibleText(root)}". ${COPY}`
    const owner = this.#packageOf(real, root)
    if (owner === undefined) return `is outside the folder of the extension, and in no package. ${COPY}`
    if (isInside(from, owner.folder) || declaredFrom(from, root).has(owner.name)) return undefined
    const name = visibleText(owner.name)
    return `belongs to the package "${name}", which no package.json on the way declares. Declare it.`
  }

  /**
   * The package of a file below the root, if it has one. A package that contains the extension does not count: its other
   * files are no dependency.
   */
  #packageOf(real: string, root: string): { readonly folder: string; readonly name: string } | undefined {
    const names = relative(root, real).split(sep)
    const at = names.lastIndexOf('node_modules') + 1
    if (at > 0) {
      const length = names[at]?.startsWith('@') ? 2 : 1
      const name = names.slice(at, at + length).join('/')
      return /^(?:\.|$)/.test(name) ? undefined : { folder: join(root, ...names.slice(0, at + length)), name }
    }
    for (const folder of foldersUp(dirname(real), root)) {
      if (isInside(this.folder, folder)) return undefined
      const { name } = packageJsonIn(folder)
      if (typeof name === 'string') return { folder, name }
    }
    return undefined
  }
}

const COPY = 'Copy it into the folder, or install its package there.'
const DECLARE = 'In a monorepo, declare its package in package.json and name the outer folder with --root.'

const unsafe = (message: string): BulkheadError => new BulkheadError('PackageUnsafe', message)

/** Throws PackageUnsafe. */
function realPathOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    throw unsafe(`"${visibleText(path)}" cannot be read: ${messageOf(error)}`)
  }
}

const isSame = (one: Stamp, other: Stamp): boolean => one.every((value, index) => value === other[index])

function outerFolder(given: string, folder: string): string {
  let fault: string
  try {
    const root = realpathSync.native(given)
    if (isInside(folder, root)) return root
    fault = `does not contain "${visibleText(folder)}"`
  } catch (error) {
    fault = `cannot be read: ${messageOf(error)}`
  }
  const advice = 'Name an outer folder of the extension, such as that of the monorepo.'
  throw new BulkheadError('InstallSourceInvalid', `--root: "${visibleText(given)}" ${fault}. ${advice}`)
}

const DEPENDENCIES = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'] as const

/**
 * The names that a dependency may be stored under: pnpm uses that of the package, and not the one that the code imports.
 */
export const packageNames = (name: string, version: Json): readonly string[] =>
  [name, ...(/^(?:npm|workspace):(@?[^@]+)@/.exec(String(version))?.slice(1) ?? [])]

/** Packages that a package.json declares, between a folder and the root. */
function declaredFrom(from: string, root: string): ReadonlySet<string> {
  const declared = [...foldersUp(from, root)].flatMap((folder) => {
    const about = packageJsonIn(folder)
    return DEPENDENCIES.flatMap((kind) => Object.entries(objectOf(about[kind])).flatMap(
      ([name, version]) => packageNames(name, version)))
  })
  return new Set(declared)
}

/** Empty if there is none that can be read. */
function packageJsonIn(folder: string): JsonObject {
  const file = readRegularFile(join(folder, PACKAGE_FILE), { maxBytes: LOADER_LIMITS.manifestBytes, followLinks: true })
  const parsed = file.ok ? parseStrictJson(file.bytes) : undefined
  return parsed?.ok ? objectOf(parsed.value) : {}
}

const objectOf = (value: Json | undefined): JsonObject => isJsonObject(value) ? value : {}
