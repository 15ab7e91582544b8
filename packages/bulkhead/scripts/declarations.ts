import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync } from 'rolldown/utils'

type Program = ReturnType<typeof parseSync>['program']
type Statement = Program['body'][number]
type Declaration = NonNullable<Extract<Statement, { type: 'ExportNamedDeclaration' }>['declaration']>

interface Source {
  readonly file: string
  readonly text: string
  readonly body: readonly Statement[]
  readonly comments: readonly { readonly type: string; readonly value: string; readonly start: number; readonly end: number }[]
}

/** One exported name as its source declares it: without its body, with the comment above it. */
export interface Declared {
  readonly comment: string
  readonly text: string
  readonly file: string
}

const PACKAGES = join(import.meta.dirname, '../..')
const sources = new Map<string, Source>()

function read(file: string): Source {
  const known = sources.get(file)
  if (known) return known
  const text = readFileSync(file, 'utf8')
  const { program, comments } = parseSync(file, text, { lang: 'ts' })
  const source = { file, text, body: program.body, comments }
  sources.set(file, source)
  return source
}

function resolve(specifier: string, from: string): string {
  if (specifier.startsWith('.')) return join(dirname(from), specifier)
  const [, name, subpath = ''] = /^@bulkhead\/([^/]+)(\/.*)?$/.exec(specifier)!
  const folder = join(PACKAGES, name!)
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { readonly exports: Readonly<Record<string, string>> }
  const target = exports[`.${subpath}`] ?? exports['./*']!.replace('*', subpath.slice(1))
  return join(folder, target)
}

const nameOf = (node: { readonly type: string } & object): string => 'name' in node ? String(node.name) : String((node as { value?: unknown }).value)

/** Every name that a module exports, in the order it is written. */
export function exportedNames(file: string): readonly string[] {
  return read(file).body.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration') return []
    const { specifiers, declaration } = statement
    const own = declaration?.type === 'FunctionDeclaration' && declaration.id ? [declaration.id.name] : []
    return [...specifiers.map(({ exported }) => nameOf(exported)), ...own]
  })
}

/** Follows re-exports and imports to where the name is declared. */
export function declarationOf(name: string, file: string): Declared {
  const source = read(file)
  for (const statement of source.body) {
    if (statement.type === 'ImportDeclaration') {
      const found = statement.specifiers.find(({ local }) => local.name === name)
      if (found?.type === 'ImportSpecifier') return declarationOf(nameOf(found.imported), resolve(statement.source.value, file))
    }
    if (statement.type !== 'ExportNamedDeclaration') continue
    const specifier = statement.specifiers.find(({ exported }) => nameOf(exported) === name)
    if (specifier && statement.source) return declarationOf(nameOf(specifier.local), resolve(statement.source.value, file))
    if (statement.declaration && declares(statement.declaration, name)) {
      return { comment: commentBefore(source, statement.start), text: withoutBody(source.text, statement.declaration), file }
    }
  }
  const own = source.body.find((statement) => declares(statement as Declaration, name)) as Declaration | undefined
  if (own) return { comment: commentBefore(source, own.start), text: withoutBody(source.text, own), file }
  throw new Error(`${file} does not declare ${name}.`)
}

/** The interfaces that a declaration extends and that are not exported themselves, under the names it uses. */
export function basesOf({ text, file }: Declared, exported: ReadonlySet<string>): readonly string[] {
  const [, heritage = ''] = /^interface \w+(?:<.*?>)? extends ([^{]+)/.exec(text) ?? []
  const names = [...heritage.replaceAll(/'[^']*'/g, '').matchAll(/\b[A-Z]\w*/g)].map(([name]) => name)
  return names.filter((name) => !exported.has(name) && !['Omit', 'Pick', 'Partial', 'Readonly'].includes(name)).flatMap((name) => {
    const base = declarationOf(name, file)
    return [base.text.replace(/^interface \w+/, `interface ${name}`), ...basesOf(base, exported)]
  })
}

function declares(declaration: Declaration, name: string): boolean {
  if (declaration.type === 'VariableDeclaration') return declaration.declarations.some(({ id }) => 'name' in id && id.name === name)
  return 'id' in declaration && declaration.id !== null && 'name' in declaration.id && declaration.id.name === name
}

function withoutBody(text: string, declaration: Declaration): string {
  if (declaration.type === 'FunctionDeclaration') return text.slice(declaration.start, declaration.body!.start).trim().replace(/^async /, '')
  if (declaration.type === 'VariableDeclaration') {
    const [{ id }] = declaration.declarations as [typeof declaration.declarations[number]]
    return `const ${text.slice(id.start, id.end)}`
  }
  if (declaration.type !== 'ClassDeclaration') return text.slice(declaration.start, declaration.end)
  const members = declaration.body.body.flatMap((member) => {
    if ('accessibility' in member && member.accessibility === 'private') return []
    if (member.type === 'PropertyDefinition') return [text.slice(member.start, member.value?.start ?? member.end).replace(/\s*=?\s*$/, '')]
    return member.type === 'MethodDefinition' && member.value.body ? [text.slice(member.start, member.value.body.start).trim()] : []
  })
  return `${text.slice(declaration.start, declaration.body.start)}{\n${members.map((member) => `  ${member}\n`).join('')}}`
}

function commentBefore({ text, comments }: Source, position: number): string {
  const comment = comments.findLast(({ type, value, end }) => type === 'Block' && value.startsWith('*') && end <= position)
  if (!comment || text.slice(comment.end, position).trim() !== '') return ''
  return comment.value.split('\n').map((line) => line.replace(/^\s*\*+ ?/, '').trim()).join('\n').trim()
}
