/** What honest descriptions do not have, by what it does there. Matched against what a model would be told. */
const SIGNS: readonly (readonly [pattern: RegExp, what: string])[] = [
  [/<\s*(?:\/\s*)?(?:important|system|instructions?|secret|hidden|assistant|admin)\b[^>]{0,500}>/i, 'marks a part of it as an order to the model'],
  [/\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|all|other|system)\b.{0,40}\b(?:instructions?|prompts?|rules|messages|guidelines)\b/is,
    'tells the model to disregard what others told it'],
  [/\b(?:do not|don't|never)\b.{0,30}\b(?:tell|mention|inform|reveal|show|notify|alert)\b.{0,40}\b(?:user|person|human|operator|anyone)\b/is,
    'tells the model to keep something from people'],
  [/\b(?:before|after|whenever|each time|every time)\b.{0,40}\b(?:use|using|call|calling|run|running)\b.{0,40}\b(?:any|another|other|every|all)\b.{0,20}\btools?\b/is,
    'tells the model how to use other tools'],
  [/\b(?:system|developer) prompt\b/i, 'speaks of the system prompt'],
  [/<!--/, 'has a comment, which many views do not show'],
  [/!\[[^\]]{0,200}\]\(\s*https?:/i, 'has a picture from the network, which sends something when it is shown'],
  [/data:[a-z]+\/[a-z0-9.+-]+;base64,/i, 'has data written as an address'],
  [/(?:[A-Za-z0-9+/]{4}){40}/, 'has a long run of characters that nobody can read'],
  [/(?:[^\S\n]*\n){8}|[^\S\n]{40}/, 'has so much empty space that what follows is out of sight'],
]

/** What in a text looks like words to a model that a person should not notice; goes on after the name of the text. */
export const findHiddenInstructions = (text: string): readonly string[] =>
  SIGNS.filter(([pattern]) => pattern.test(text)).map(([, what]) => what)
