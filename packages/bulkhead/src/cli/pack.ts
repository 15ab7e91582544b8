import { join, resolve } from 'node:path'
import { INTEGRITY_FILE } from '@bulkhead/loader'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { makeFolder } from '@bulkhead/kit/folders'
import { printJson } from './output.ts'
import { type Command, UsageError } from './command.ts'
import { readExtensionFolder } from './extension-folder.ts'
import { HOME_DETAILS, HOME_OPTIONS, readOptions } from './host-options.ts'
import { extensionJson, extensionLines, line } from './plan-text.ts'
import { sizeInWords } from './progress.ts'
import { replaceFile } from './replace-file.ts'

export const pack: Command = {
  usage: 'bulkhead pack DIR [--out DIR] [--json] [--home DIR]',
  details: `  DIR               folder of an extension
  --out DIR         folder for the tarball (default: this folder)
${HOME_DETAILS}

Checks the folder as a host does and parses its code without running it. Writes ${INTEGRITY_FILE} into the folder, and
ID-VERSION.tgz. Dot files, node_modules, earlier tarballs and files not listed in "files" of package.json are left out. If the
code uses dependencies, they are bundled into the main module. To sign: pack, sign ${INTEGRITY_FILE} into
bulkhead.sigstore.json in the same folder, then pack again.`,

  async run(args) {
    const { values, positionals } = readOptions(args, { ...HOME_OPTIONS, out: { type: 'string' } })
    const [dir, ...more] = positionals
    if (dir === undefined || more.length > 0) throw new UsageError('Name one folder after "pack".')
    const { folder, ...packed } = await readExtensionFolder(dir, values.home)
    const { id, version } = packed.extension
    const out = resolve(values.out ?? '.')
    const tarball = join(out, `${id}-${version}.tgz`)
    write(() => makeFolder(out), out)
    write(() => replaceFile(join(folder, INTEGRITY_FILE), packed.integrityFile), join(folder, INTEGRITY_FILE))
    write(() => replaceFile(tarball, packed.tarball), tarball)
    const { leftOut, bundled, warnings, files } = packed
    if (values.json) printJson({ packed: true, tarball, bytes: packed.tarball.length, files: [...files.keys()], leftOut, bundled, warnings, ...extensionJson(packed.extension) })
    else process.stdout.write([
      ...extensionLines(packed.extension), line('holds', `${files.size} files, packed ${sizeInWords(packed.tarball.length)}${bundled ? ', the main module bundled' : ''}`),
      ...(leftOut.length === 0 ? [] : [line('without', leftOut.join(', '))]), ...warnings.map((text) => line('warning', text)), line('written', tarball), '',
    ].join('\n'))
    return 0
  },
}

function write(work: () => void, path: string): void {
  try {
    work()
  } catch (error) {
    throw new BulkheadError('InstallFailed', `"${path}" could not be written: ${messageOf(error)}`, { cause: error })
  }
}
