import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../../..')

/** The indexes of the documentation, in the order in which `llms.txt` lists them. */
const INDEXES = ['tutorials', 'guides', 'reference', 'explanation']

const FACTS = `- Publishers write a manifest (\`bulkhead.json\`) and one ES module. Embedders call \`createHost()\` of \`bulkhead\`. Operators use the \`bulkhead\` command and \`~/.bulkhead/config.json\`.
- Every call returns one outcome: \`{ type: 'output', data }\` or \`{ type: 'error', error: { code }, error_text }\`. Codes are in the error reference.
`

const LINK = /^- \[([^\]]+)\]\(([^)]+)\)(.*)$/gm

const read = (page: string): string => readFileSync(join(root, page), 'utf8')

/** The paragraph below the title. */
const opening = (text: string): string => /^# .+\n\n([\s\S]+?)\n\n/.exec(text)![1]!.replaceAll('\n', ' ')

/** llms.txt: what Bulkhead is, in the words of its documentation, and every page that the indexes in `docs` list. */
export function llmsPage(): string {
  const [, title, summary] = /^(# .+\n\n).+\n\n([\s\S]+)/.exec(read('README.md'))!
  const facts = `${FACTS}- ${opening(read('docs/guides/libraries.md'))}\n`
  return `${title}> ${opening(title! + summary!)}\n\n${facts}${INDEXES.map(section).join('')}`
}

function section(folder: string): string {
  const page = read(join('docs', folder, 'README.md'))
  const [, title] = /^# (.+)$/m.exec(page)!
  const links = [...page.matchAll(LINK)].map(([, name, target, rest]) =>
    `- [${name}](${join('docs', folder, target!)})${rest}\n`)
  return `\n## ${title}\n\n${links.join('')}`
}
