import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
const mk = () => { const a = new Ajv2020({ strict: true, strictRequired:false, strictTuples:false, allowUnionTypes:true, allErrors:false, validateFormats:true, inlineRefs:false, logger:false, addUsedSchema:false }); (formats as any).default(a); return a }
let t=performance.now(); const a = mk(); console.log('new', performance.now()-t)
t=performance.now(); a.validateSchema({type:'object'}); console.log('first meta', performance.now()-t)
const s = (i:number)=>({type:'object', additionalProperties:false, required:['city'], properties:{ city:{type:'string',minLength:1,description:'c'+i}, days:{type:'integer',minimum:1,maximum:10}, unit:{enum:['c','f']}, opts:{type:'object',properties:{a:{type:'array',items:{type:'string'}}}}}})
t=performance.now(); for (let i=0;i<200;i++){ const x=s(i); a.compile(x); a.removeSchema(x) } console.log('200 compile', performance.now()-t)
t=performance.now(); for (let i=0;i<200;i++){ const x=s(i); a.validateSchema(x) } console.log('200 validateSchema', performance.now()-t)
const tr=(n:string,x:any)=>{ try { const v=a.compile(x); console.log(n,'ok', typeof v); a.removeSchema(x); return v } catch(e:any){ console.log(n, e.constructor.name, e.message.slice(0,200)) } }
tr('unknown kw',{type:'object',foo:1}); tr('remote',{type:'object',properties:{a:{$ref:'https://x/y'}}}); tr('unknownref',{type:'object',properties:{a:{$ref:'#/$defs/nope'}}})
tr('badtype',{type:'objekt'}); tr('badpattern',{type:'string',pattern:'('}); tr('badfmt',{type:'string',format:'cuid'}); tr('min',{type:'object',properties:{a:{minimum:1}}})
tr('draft7',{$schema:'http://json-schema.org/draft-07/schema#',type:'object'}); tr('async',{$async:true,type:'object'}); tr('default',{type:'object',properties:{a:{type:'string',default:'x'}}})
const v = tr('self',{type:'object',$ref:'#'}); try { v!({}) } catch(e:any){ console.log('self', e.message)}
tr('oneOf-required',{type:'object',properties:{a:{type:'string'},b:{type:'string'}},oneOf:[{required:['a']},{required:['b']}]})
tr('union',{type:['string','null']}); tr('union2',{type:'object',properties:{x:{type:['string','object'],properties:{z:{}}}}}); tr('tuple',{type:'array',prefixItems:[{type:'string'}]}); tr('examples',{type:'string',examples:['a'],deprecated:true,title:'x',readOnly:true,contentMediaType:'x',$comment:'x'})
tr('nullable',{type:'string',nullable:true}); tr('dyn',{$dynamicAnchor:'n',type:'object',properties:{c:{$dynamicRef:'#n'}}}); tr('anch',{type:'object',$defs:{x:{$anchor:'q',type:'string'}},properties:{c:{$ref:'#q'}}})
tr('if',{type:'object',properties:{a:{type:'string'}},if:{properties:{a:{const:'x'}}},then:{required:['a']}}); tr('items array',{type:'array',items:[{type:'string'}]}); tr('dependencies',{type:'object',dependencies:{a:['b']}}); tr('definitions',{type:'object',definitions:{a:{type:'string'}}})
tr('if-no-then',{type:'object',if:{required:['a']}}); tr('bool', {type:'object',properties:{a:true,b:false}}); tr('propertyNames',{type:'object',propertyNames:{type:'string'},additionalProperties:{type:'string'}});tr('patprops',{type:'object',properties:{ab:{type:'string'}},patternProperties:{'^a':{type:'string'}}});
for (const k of ['$data','formatMinimum','discriminator','$recursiveRef','id','$id','contentSchema','$vocabulary','$async','nullable','dependencies','definitions','x-a']) console.log(k, a.getKeyword(k) !== false)
// bombs
const big:any={type:'object',properties:{}}; for(let i=0;i<2000;i++) big.properties['p'+i]={type:'string',minLength:1}
t=performance.now(); tr('2000props',big); console.log(performance.now()-t)
const any:any={type:'object',properties:{x:{anyOf:[]}}}; for(let i=0;i<2000;i++) any.properties.x.anyOf.push({type:'string',minLength:i})
t=performance.now(); tr('2000any',any); console.log(performance.now()-t)
let deep:any={type:'object'}; for(let i=0;i<40;i++) deep={type:'object',anyOf:[deep,{type:'object',allOf:[{type:'object',properties:{a:{type:'string'}}}]}]}
t=performance.now(); tr('deep',deep); console.log(performance.now()-t)
const refs:any={type:'object',$defs:{d30:{type:'string'}},properties:{a:{$ref:'#/$defs/d0'}}}; for(let i=0;i<24;i++) refs.$defs['d'+i]={anyOf:[{$ref:'#/$defs/d'+(i+1)},{$ref:'#/$defs/d'+(i+1)}]}; refs.$defs.d24={type:'string'}
t=performance.now(); const rv=tr('refs',refs); console.log(performance.now()-t); t=performance.now(); console.log(rv!({a:5})); console.log('exp', performance.now()-t)
