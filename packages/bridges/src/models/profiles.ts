/** What the API of a provider accepts. Everything else in this folder is the same for all of them. */
export interface ModelProfile {
  readonly provider: string
  /** For the names of tools. */
  readonly names: NameRule
  /** For the names of arguments. Default: any. */
  readonly argumentNames?: NameRule
  readonly schemas: SchemaRule
}

export interface NameRule {
  /** The characters that may not be in a name. */
  readonly illegal: RegExp
  readonly maxLength: number
  /** Whether a digit or a dash may come first. */
  readonly anyStart: boolean
}

export interface SchemaRule {
  /** Whether the provider has a strict mode. Without one, a schema only loses what the provider does not read. */
  readonly strict: boolean
  /** Whether a strict schema requires every property. Optional ones then also accept null. */
  readonly allRequired: boolean
  /** The keywords about single values that it enforces. Others are written into the description. */
  readonly keywords: ReadonlySet<string>
  readonly formats: ReadonlySet<string>
  /** The largest `minItems` that it enforces. */
  readonly maxMinItems: number
  /** `none`: definitions are written out in place. */
  readonly references: 'recursive' | 'acyclic' | 'none'
  /** Whether an object below the root may have no properties. */
  readonly emptyObjects: boolean
  readonly limits: SchemaLimits
}

/** Limits of one strict schema. */
export interface SchemaLimits {
  readonly properties: number
  readonly depth: number
  readonly enumValues: number
  /** Characters in all names of properties and definitions, and in all values of `enum` and `const`. */
  readonly chars: number
  /** Characters in the values of one `enum` that has more than 250. */
  readonly longEnumChars: number
}

const LIMITS: SchemaLimits = { properties: 5000, depth: 10, enumValues: 1000, chars: 120_000, longEnumChars: 15_000 }

const FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']
const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']

export const OPENAI: ModelProfile = {
  provider: 'OpenAI',
  names: { illegal: /[^A-Za-z0-9_-]/g, maxLength: 64, anyStart: true },
  schemas: {
    strict: true, allRequired: true, references: 'recursive', emptyObjects: true, maxMinItems: Infinity, limits: LIMITS,
    keywords: new Set(['const', 'pattern', 'format', ...NUMBERS, 'minItems', 'maxItems']), formats: new Set(FORMATS),
  },
}

export const ANTHROPIC: ModelProfile = {
  provider: 'Anthropic',
  names: { illegal: /[^A-Za-z0-9_-]/g, maxLength: 128, anyStart: true },
  argumentNames: { illegal: /[^A-Za-z0-9_.-]/g, maxLength: 64, anyStart: true },
  schemas: {
    strict: true, allRequired: false, references: 'acyclic', emptyObjects: true, maxMinItems: 1, limits: LIMITS,
    keywords: new Set(['const', 'format', 'minItems']), formats: new Set([...FORMATS, 'uri']),
  },
}

/** Public descriptions of its strict mode disagree, so this is what all of them allow. */
export const DEEPSEEK: ModelProfile = {
  provider: 'DeepSeek',
  names: OPENAI.names,
  schemas: {
    strict: true, allRequired: true, references: 'none', emptyObjects: false, maxMinItems: 0, limits: LIMITS,
    keywords: new Set(), formats: new Set(),
  },
}

/** Gemini has no strict mode. It reads a part of JSON Schema. */
export const GEMINI: ModelProfile = {
  provider: 'Gemini',
  names: { illegal: /[^A-Za-z0-9_.:-]/g, maxLength: 128, anyStart: false },
  argumentNames: { illegal: /[^A-Za-z0-9_]/g, maxLength: 64, anyStart: false },
  schemas: {
    strict: false, allRequired: false, references: 'recursive', emptyObjects: true, maxMinItems: Infinity,
    limits: LIMITS,
    keywords: new Set(['format', 'minimum', 'maximum', 'minItems', 'maxItems', 'prefixItems']),
    formats: new Set([...FORMATS, 'uri', 'int32', 'int64', 'float', 'double', 'byte']),
  },
}
