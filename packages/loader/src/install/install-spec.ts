import { statSync, type Stats } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'

/** What is to be installed. */
export type InstallSpec =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'tarball'; readonly path: string }
  /** A version, a range or a tag. */
  | { readonly kind: 'npm'; readonly name: string; readonly wanted: string }

const NPM_SPEC = /^((?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*)(?:@([^@/\\\s]{1,128}))?$/
const NPM_NAME_CHARS = 214

/**
 * A path begins with a dot or a slash, ends as archives do, or has a slash; everything else is the name of a package. What
 * happens to lie in the working directory changes the meaning of nothing. Throws InstallSourceInvalid.
 */
export function parseInstallSpec(text: string, cwd: string): InstallSpec {
  const npm = NPM_SPEC.exec(text)
  const isArchive = /\.(?:tgz|tar\.gz)$/.test(text)
  if (npm !== null && !isArchive && !text.startsWith('.')) {
    const [, name = '', wanted = 'latest'] = npm
    if (name.length > NPM_NAME_CHARS) throw invalid(text, `has a name of more than ${NPM_NAME_CHARS} characters`)
    return { kind: 'npm', name, wanted }
  }
  if (!isArchive && !/^\.{0,2}[/\\]|^\.{1,2}$|[/\\]/.test(text) && !isAbsolute(text)) throw invalid(text, 'is neither a path nor the name of a package')
  const path = resolve(cwd, text)
  const stat = lookAt(path, text)
  if (stat === undefined) throw invalid(text, 'does not exist')
  if (stat.isDirectory()) return { kind: 'folder', path }
  if (stat.isFile() && isArchive) return { kind: 'tarball', path }
  throw invalid(text, stat.isFile() ? 'is a file and no .tgz' : 'is neither a folder nor a file')
}

function lookAt(path: string, text: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    throw invalid(text, `cannot be looked at: ${messageOf(error)}`)
  }
}

const invalid = (text: string, what: string) =>
  new BulkheadError('InstallSourceInvalid', `"${visibleText(text.slice(0, 300))}" ${what}. Name a folder such as ./weather, a tarball such as weather-1.4.0.tgz, or a package such as @acme/weather@1.4.0.`)
