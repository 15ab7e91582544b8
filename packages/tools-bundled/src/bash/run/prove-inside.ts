import { ToolError, type FileReader } from '@bulkhead/contract'
import type { FedWords } from '../policy/known-uses.ts'

type Files = Pick<FileReader, 'stat'>

/** Contract: rejects with CapabilityDenied where a path, links followed, leads out of what the tool may read. */
export async function proveInside(path: string, folder: string, fs: Files): Promise<void> {
  try {
    await fs.stat(path.startsWith('/') ? path : `${folder}/${path}`)
  } catch (error) {
    // What is not there, or is no file, is the program's to complain about.
    if ((error as { readonly code?: unknown }).code === 'CapabilityDenied') throw error
  }
}

export function refuseOption(text: string, what: string, cure: string): void {
  if (text.startsWith('-')) throw new ToolError('InputInvalid', `${what}, which would be taken for an option. ${cure}`)
}

/** Proven at once. */
const AT_ONCE = 32

/** The names that lead nowhere else; what does is left out, and `note` is told. */
export async function insideOnly(names: readonly string[], folder: string, fs: Files, note: (text: string) => void): Promise<readonly string[]> {
  const inside: string[] = []
  for (let at = 0; at < names.length; at += AT_ONCE) {
    const some = names.slice(at, at + AT_ONCE)
    const proofs = await Promise.allSettled(some.map((name) => proveInside(name, folder, fs)))
    proofs.forEach(({ status }, index) => {
      if (status === 'fulfilled') inside.push(some[index]!)
      else note(`${some[index]!}: left out, because it leads out of the workspace\n`)
    })
  }
  return inside
}

/** What `xargs` is given instead of a text: those of its words that lead nowhere else. */
export async function provenInput(
  text: string, { isNul, areFiles }: FedWords, folder: string, fs: Files, note: (text: string) => void,
): Promise<string> {
  if (!isNul && /["'\\]/.test(text)) {
    const why = 'The names that xargs is given have quotes or back-slashes in them.'
    throw new ToolError('InputInvalid', `${why} End them by a NUL, as with find -print0 and xargs -0.`)
  }
  const words = text.split(isNul ? '\0' : /\s+/).filter((word) => word !== '')
  for (const word of words) refuseOption(word, `The input of xargs has "${word}"`, 'Name files so that they begin with ./ instead.')
  if (!areFiles) return text
  return (await insideOnly(words, folder, fs, note)).map((word) => `${word}${isNul ? '\0' : '\n'}`).join('')
}
