import {
  declaredPower, isBundledTool, powerItems, powerPhrases, type ExtensionDescriptor, type LoadReport, type ProjectTool,
  type ToolManifest,
} from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'

/** What a tool of a project takes the place of, in words. undefined for nothing. */
export type Shadows = (tool: string, extension: string) => string | undefined

/** `below`: the layers without the project. */
export const shadowsOf = ({ extensions }: Pick<LoadReport, 'extensions'>): Shadows => {
  const yours = extensions.filter(({ layer }) => layer === 'global')
  return (tool, id) => {
    const other = yours.find(({ manifest }) => manifest.tools.some(({ name }) => name === tool))
      ?? yours.find((one) => one.id === id)
    if (other !== undefined) return `your ${other.id} ${other.version}`
    return isBundledTool(tool) ? 'the bundled tool' : undefined
  }
}

export function describeTool(
  { name, gated, requires }: ToolManifest, extension: string, shadows?: Shadows,
): ProjectTool {
  const shadowed = shadows?.(name, extension)
  return {
    name, extension, gated, may: powerPhrases(powerItems(declaredPower(requires)), 'does'),
    ...(shadowed !== undefined && { shadows: shadowed }),
  }
}

/** The tools of the project layer. None of their code has run. */
export const toolsOfProject = (extensions: readonly ExtensionDescriptor[], shadows: Shadows): readonly ProjectTool[] =>
  extensions.filter(({ layer }) => layer === 'project')
    .flatMap(({ id, manifest }) => manifest.tools.map((tool) => describeTool(tool, id, shadows)))

export const toolWords = ({ name, may, gated, shadows }: ProjectTool): string => visibleText([
  `${name}: ${may.join(', ') || 'nothing'}`,
  ...(gated ? [] : ['declares that it needs no approval (gated: false)']),
  ...(shadows === undefined ? [] : [`takes the place of ${shadows}`]),
].join('; '))

/** So many are listed in a question. */
const LISTED = 50

/** A list for a question. */
export function toolLines(tools: readonly ProjectTool[]): readonly string[] {
  const more = tools.length - LISTED
  return [...tools.slice(0, LISTED).map(toolWords), ...(more > 0 ? [`and ${more} more tools`] : [])]
}
