import { join, resolve } from 'node:path'
import { makeFolder } from '@bulkhead/kit/folders'
import { INTEGRITY_FILE } from '@bulkhead/loader'
import { defineCommand, UsageError } from '../command.ts'
import { readExtensionFolder } from '../extension-source.ts'
import { HOME_OPTIONS, SOURCE_OPTIONS } from '../host-options.ts'
import { printJson, sizeInWords } from '../output.ts'
import { extensionJson, extensionLines, line, sourceLines, sourcesJson } from '../review.ts'
import { replaceFile, writing } from '../write-file.ts'

export const pack = defineCommand({
  usage: 'DIR',
  operands: { DIR: { text: 'folder of an extension', completes: 'folder' } },
  options: {
    out: { type: 'string', value: 'DIR', completes: 'folder', text: 'folder for the tarball (default: this folder)' },
    ...SOURCE_OPTIONS, ...HOME_OPTIONS,
  },
  details: `Checks the folder as a host does. Writes ${INTEGRITY_FILE} into the folder, and ID-VERSION.tgz. Dot files,
node_modules, earlier tarballs and files not listed in "files" of package.json are left out. A main module in
TypeScript, or one that uses dependencies, is bundled into one ES module with them; types are not checked. If TypeScript
has no manifest with tools, the manifest is generated: the module runs in a sandbox without any power and declares it.
Other code is parsed and not run. Only files of the folder and its node_modules are bundled, and with --root those of
packages below that folder that a package.json declares; all of them are listed with their digests. To sign the tarball,
use "bulkhead sign".`,
  examples: [{ command: 'bulkhead pack ./word-count --out dist', text: 'dist/word-count-0.1.0.tgz' }],

  async run({ values, positionals }) {
    const [dir, ...more] = positionals
    if (dir === undefined || more.length > 0) throw new UsageError('Name one folder after "pack".')
    const { folder, ...packed } = await readExtensionFolder(dir, values)
    const { id, version } = packed.extension
    const out = resolve(values.out ?? '.')
    const tarball = join(out, `${id}-${version}.tgz`)
    const integrityFile = join(folder, INTEGRITY_FILE)
    writing(out, () => makeFolder(out))
    writing(integrityFile, () => replaceFile(integrityFile, packed.integrityFile))
    writing(tarball, () => replaceFile(tarball, packed.tarball))
    const { leftOut, bundled, warnings, files } = packed
    const bytes = packed.tarball.length
    if (values.json) {
      const contents = { files: [...files.keys()], leftOut, bundled, ...sourcesJson(packed), warnings }
      printJson({ packed: true, tarball, bytes, ...contents, ...extensionJson(packed.extension) })
      return 0
    }
    const size = `${files.size} files, packed ${sizeInWords(bytes)}${bundled ? ', the main module bundled' : ''}`
    process.stdout.write([
      ...sourceLines(packed), ...extensionLines(packed.extension), ...fileLines(files), line('size', size),
      ...(leftOut.length === 0 ? [] : [line('left out', leftOut.join(', '))]),
      ...warnings.map((text) => line('warning', text)), line('written', tarball), '',
    ].join('\n'))
    return 0
  },
})

const MOST_FILES = 20

/** The largest files of a package, with their sizes. */
export function fileLines(files: ReadonlyMap<string, Uint8Array>): readonly string[] {
  const bySize = [...files].toSorted(([, one], [, other]) => other.length - one.length)
  const others = bySize.length - MOST_FILES
  return [
    ...bySize.slice(0, MOST_FILES).map(([path, { length }]) => line('file', `${path}, ${sizeInWords(length)}`)),
    ...(others > 0 ? [line('', `and ${others} smaller files`)] : []),
  ]
}
