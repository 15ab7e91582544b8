import { readFile, writeFile } from 'node:fs/promises'
import type { Library } from './library.ts'
import { LIBRARIES } from './packages.ts'

const PAGE = new URL('../../../../docs/guides/libraries.md', import.meta.url)
const SECTION = /(<!-- libraries:begin -->\n)[^]*?(<!-- libraries:end -->)/

/** The table of the guide. */
export function renderTable(): string {
  const works = LIBRARIES.filter(({ fails }) => fails === undefined).length
  return [
    '',
    `${works} of ${LIBRARIES.length} work, each in the version that \`pnpm soak\` installs and calls in a compartment:`,
    '',
    '| package | version | what its tool does | |', '|---|---|---|---|',
    ...LIBRARIES.map(
      (library) => `| \`${library.name}\` | ${library.version} | ${library.does} | ${remarkOn(library)} |`,
    ),
    '',
    '',
  ].join('\n')
}

const remarkOn = ({ fails, note = '' }: Library): string =>
  fails === undefined ? note : `**does not work**: ${fails.because}. Use ${fails.instead}`

/** The table as the guide has it. */
export const readTable = async (): Promise<string | undefined> =>
  SECTION.exec(await readFile(PAGE, 'utf8'))?.[0].replace(SECTION, (all, begin: string, end: string) =>
    all.slice(begin.length, all.length - end.length))

export async function writeTable(): Promise<void> {
  const text = await readFile(PAGE, 'utf8')
  await writeFile(PAGE, text.replace(SECTION, (_all, begin: string, end: string) => `${begin}${renderTable()}${end}`))
}
