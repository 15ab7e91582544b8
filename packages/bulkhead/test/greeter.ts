import { join } from 'node:path'
import { packFolder } from '@bulkhead/loader'
import { loaderOptions } from '../src/facade/loader-options.ts'
import { writeExtension } from './extension-folder.ts'

/** Writes a version of an extension that greets, and may reach these hosts. Returns its folder. */
export function writeGreeter(folder: string, version: string, hosts: readonly string[] = []): string {
  return writeExtension(
    join(folder, 'sources', version),
    {
      id: 'greeter', version,
      tools: [
        {
          name: 'greet', inputSchema: { type: 'object' },
          ...(hosts.length > 0 && { requires: { net: { hosts: [...hosts] } }, mode: 'external' as const }),
        },
      ],
    },
    `export default { tools: { greet: { execute: () => 'hello from ${version}' } } }`,
  )
}

/** The tarball of such a version. */
export async function packGreeter(folder: string, version: string, hosts?: readonly string[]) {
  const loader = loaderOptions(join(folder, 'home/.bulkhead'))
  return (await packFolder(writeGreeter(folder, version, hosts), { loader })).tarball
}
