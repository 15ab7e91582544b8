import type { ArgsOf } from './schema-types.ts'

// The types here become the text of an error: a value is not assignable to a sentence that says what is wrong.

type Letter =
  | 'a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'g' | 'h' | 'i' | 'j' | 'k' | 'l' | 'm' | 'n' | 'o' | 'p' | 'q' | 'r' | 's' | 't'
  | 'u' | 'v' | 'w' | 'x' | 'y' | 'z'
type NameStart = Letter | Uppercase<Letter>
type NameCharacter = NameStart | '0' | '1' | '2' | '3' | '4' | '5' | '6' | '7' | '8' | '9' | '_' | '-'

type OnlyNameCharacters<Text extends string> =
  Text extends `${NameCharacter}${infer Rest}` ? Rest extends '' ? true : OnlyNameCharacters<Rest> : false

/** A type such as `string` or `tool_${number}`, which has many values, is not checked. */
type IsOpen<Text extends string> = Record<never, never> extends Record<Text, 1> ? true : false

type IsToolName<Name extends string> = IsOpen<Name> extends true ? true
  : Name extends `${NameStart}${infer Rest}` ? Rest extends '' ? true : OnlyNameCharacters<Rest> : false

/** The name itself, or a sentence if no tool can have it. The host checks the length as well. */
export type ToolName<Name> = Name extends string ? IsToolName<Name> extends true ? Name
  : `"${Name}" cannot be the name of a tool. Begin with a letter, and use letters, digits, _ and - only.`
  : Name

/** A member for each name that no tool can have. */
export type OnlyToolNames<Tools> = {
  readonly [Name in keyof Tools as Name extends string ? IsToolName<Name> extends true ? never : Name : never]:
    ToolName<Name>
}

type RootOf<Path extends string> = Path extends `${infer Root}.${string}` ? Root : Path

/** The first argument of a template that the arguments do not have. */
type UnknownArgument<Template extends string, Known> =
  Template extends `${string}{${infer Path}}${infer Rest}`
    ? RootOf<Path> extends Known ? UnknownArgument<Rest, Known> : RootOf<Path>
    : never

/** The template itself, or a sentence if it names an argument that the input does not have. */
export type ApprovalTemplate<Template, Input> =
  Template extends string ? IsOpen<Template> extends true ? Template
    : [UnknownArgument<Template, keyof ArgsOf<Input>>] extends [never] ? Template
      : `The input has no argument "${UnknownArgument<Template, keyof ArgsOf<Input>>}". Name one of its properties.`
    : string | undefined
