"use strict";(()=>{var qi=Object.defineProperty;var we=(e=>typeof require<"u"?require:typeof Proxy<"u"?new Proxy(e,{get:(t,r)=>(typeof require<"u"?require:t)[r]}):e)(function(e){if(typeof require<"u")return require.apply(this,arguments);throw Error('Dynamic require of "'+e+'" is not supported')});var H=(e,t,r)=>()=>{if(r)throw r[0];try{return e&&(t=e(e=0)),t}catch(n){throw r=[n],n}};var or=(e,t)=>{for(var r in t)qi(e,r,{get:t[r],enumerable:!0})};function vn(e){return e instanceof Error?{name:e.name,message:e.message}:{name:"Error",message:String(e)}}function V(e){return((e instanceof Error?e.message:String(e)).trim().split(`
`)[0]||(e instanceof Error?e.name:"unknown")).slice(0,200)}var He,C,D,re,x=H(()=>{"use strict";He=class extends Error{name="UserError"},C=class extends He{name="ArtefactError"},D=class extends He{name="DataError"},re=class extends He{name="ToolError"}});function Ve(e){return Hi[e]??Vi}function J(e,t){try{return new TextDecoder("utf-8",{fatal:!0,ignoreBOM:!0}).decode(e)}catch{throw new C(`${t}: is not UTF-8; export the artefact again`)}}function Je(e,t,r){let n;try{n=JSON.parse(e)}catch(s){throw new C(`${t}: can't be read as JSON (${s.message.slice(0,120)}); export the artefact again`)}if(Ki(n,Ji[r]))throw new C(`${t}: can't be read as JSON (it is too deep); export the artefact again`);return n}function Ki(e,t){let r=[e];for(let n=0;r.length;n++){if(n>t)return!0;r=r.flatMap(s=>s!==null&&typeof s=="object"?Object.values(s):[])}return!1}function at(e,t){if(e===null||t===null||typeof e!="object"||typeof t!="object")return e===t;if(Array.isArray(e)!==Array.isArray(t))return!1;let r=Object.keys(e);return r.length===Object.keys(t).length&&r.every(n=>Object.hasOwn(t,n)&&at(e[n],t[n]))}function M(e){return JSON.stringify(e)?.slice(0,60)??String(e)}function kn(e){return e===null?"null":Array.isArray(e)?"array":typeof e}var ye,Hi,Vi,Ji,Yi,G,Ae=H(()=>{"use strict";x();ye=1<<20,Hi={"io.json":ye,"recipe.json":ye,SHA256SUMS:ye,"vocab.txt":32*ye,"spelling.txt":8*ye,"tokenizer.json":128*ye},Vi=2048*ye,Ji={card:900,tokenizer:127};Yi=/^(?:[^\p{C}\p{Z}]| )*$/u;G=class e{constructor(t,r){this.where=r;if(t===void 0||kn(t)!=="object")throw this.fault(`has the wrong type: ${M(t)}, not an object`);this.data=t}where;data;fault(t){return new C(`${this.where}: ${t.slice(0,300)}; export the artefact again`)}has(t){return Object.hasOwn(this.data,t)}only(...t){let r=Object.keys(this.data).find(n=>!t.includes(n));if(r!==void 0)throw this.fault(`field ${M(r)} is not known to this version`);return this}lacks(t){return!this.has(t)||this.data[t]===null}take(t,...r){if(!this.has(t))throw this.fault(`field '${t}' is missing`);let n=this.data[t];if(!r.includes(kn(n)))throw this.fault(`field '${t}' has the wrong type (${M(n)})`);return n}integer(t,r,n){let s=this.take(t,"number");if(!Number.isInteger(s))throw this.fault(`field '${t}' has the wrong type (${s})`);if(!(r<=s&&s<=n))throw this.fault(`${t} ${s} is not from ${r} to ${n}`);return s}number(t,r,n){let s=this.take(t,"number");if(!(r<=s&&s<=n))throw this.fault(`${t} ${s} is not from ${r} to ${n}`);return s}truth(t){return this.take(t,"boolean")}anyText(t){return this.take(t,"string")}text(t,r=64){let n=this.anyText(t);if(!Yi.test(n)||!n.trim()||[...n].length>r)throw this.fault(`${t} ${M(n)} is not a text of 1 to ${r} printable characters`);return n}array(t,r){let n=this.take(t,"array");if(n.length>r)throw this.fault(`${t} has ${n.length} entries, more than ${r}`);return n}texts(t,r,n){let s=this.take(t,"array");if(!(r<=s.length&&s.length<=n))throw this.fault(`${t} ${M(s)} can't be: ${r} to ${n} are expected`);let o=s.map(i=>new e({[t]:i},this.where).text(t,200));if(new Set(o).size<o.length)throw this.fault(`${t} ${M(s)} are not all different`);return o}numbers(t,r,n){return this.take(t,"array").slice(0,64).map(o=>new e({[t]:o},this.where).number(t,r,n))}object(t){return new e(this.take(t,"object"),this.where)}objects(t,r){return this.array(t,r).map(n=>new e(n,`${this.where}: ${t}`))}}});function Tn(e){return e.split(Xi).filter(t=>t).length}var Xi,yt,xn=H(()=>{"use strict";Xi=/[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/,yt=class{constructor(t,r){this.quartiles=t;this.added=r;let n=t.every((s,o)=>o===0||s>=t[o-1]);if(t.length!==3||!n)throw new RangeError("quartiles are not three ascending numbers");if(r.length!==4)throw new RangeError(`${r.length} numbers to add for 4 categories`)}quartiles;added;of(t,r){let[n,s]=[Tn(t),Tn(r)],o=Math.min(n,s);if(!o)return 0;let i=Math.abs(n-s)/o,a=this.quartiles.findIndex(l=>i<=l);return this.added[a<0?3:a]}}});function Pn(e){return e==="$A"||e==="$B"}function ar(e,t,r){let n=e.array(t,ir+2),s=n.map(i=>Zi(new G({[t]:i},e.where).text(t,200)));if(s.filter(i=>Pn(i.name)).map(i=>i.name).join()!==r.join())throw e.fault(`template ${t} ${M(n)} does not hold ${r.join(" and ")}`);if(s.length>r.length+ir)throw e.fault(`template ${t} has more than ${ir} special tokens`);return s}function Zi(e){let t=/^(.+):([01])$/su.exec(e);return t?{name:t[1],type:Number(t[2])}:{name:e,type:0}}var ir,De,Dt=H(()=>{"use strict";Ae();ir=8;De=class e{constructor(t){this.parts=t;this.size=t.filter(r=>typeof r.id=="number").length}parts;size;get specials(){let[t,r]=[this.parts.findIndex(n=>n.id==="A"),this.parts.findIndex(n=>n.id==="B")];return[t,r-t-1]}static of(t,r){let n=t.map(({name:s,type:o})=>({id:Pn(s)?s.slice(1):r(s),type:o}));return n.some(s=>s.id===void 0)?null:new e(n)}equals(t){return JSON.stringify(this.parts)===JSON.stringify(t.parts)}fill(t,r=[]){let n=[],s=[];for(let{id:o,type:i}of this.parts){let a=o==="A"?t:o==="B"?r:[o];for(let l of a)n.push(l),s.push(i)}return{ids:n,types:s}}}});function na(e,t){let r=bt[e.task],n=(f,p)=>{if(f)throw t.fault(p)};n(!r.texts.includes(e.texts),`texts is ${e.texts}, which ${e.task} does not take`),n(e.texts===2&&!e.tokenizer.pair,"template pair is missing, and an input has two texts");let s=at(e.inputs,Ke)||at(e.inputs,Ke.slice(0,2));n(!s,`inputs are not ${Ke.join(", ")}, the last where the network has types`);let o=e.task==="token-classification"||e.task==="question-answering";n(e.tokenizer.spelling&&o,`tokenizer spelling does not fit ${e.task}, whose answers are characters`);let i=e.tokenizer.sortTexts&&(e.task!=="text-matching"||e.embedding!==null);n(i,`tokenizer sort_texts does not fit ${e.task}`),n(e.stride!==null&&e.stride>=e.seqLen,`context stride ${e.stride} is not from 0 to ${e.seqLen-1}`);let{activation:a}=e;n(!r.activations.includes(a),`activation ${M(a)} does not fit ${e.task}`);let l=a===null?0:a==="softmax"?2:1,c=a===null?0:cr,F=e.labels.length;n(F<l||F>c,`labels are ${F}, which can't be with activation ${M(a)}`);let u=e.task==="text-matching";if(n(u&&F>1&&a!=="softmax",`activation ${M(a)} of a matcher needs one label`),n(e.task==="sentence-embedding"&&!e.embedding,"embedding is missing"),n(!u&&e.task!=="sentence-embedding"&&e.embedding!==null,`embedding does not fit ${e.task}`),!u)return;n(e.positive>=F,`positive ${e.positive} is not from 0 to ${F-1}`);let d=a==="identity";n(!d&&!(e.threshold>=0&&e.threshold<=1),`threshold ${e.threshold} is not from 0 to 1`),n(d&&(e.temperature!==1||e.lengthShift!==null),"temperature and length_shift do not fit activation identity")}function sa(e){let t=e.integer("seq_len",...lr),r=e.objects("buckets",Qi).map(s=>({seqLen:s.integer("seq_len",...lr),signature:s.take("signature","string","null")===null?null:s.text("signature")})),n=r.every((s,o)=>o===0||s.seqLen>r[o-1].seqLen);if(!r.length||!n||r.at(-1)?.seqLen!==t)throw e.fault(`buckets of ${r.map(s=>s.seqLen).join(", ")} tokens with seq_len ${t} can't be`);return r}function oa(e,t){let r=e.object("tokenizer").only(...ra),n=r.text("kind");if(!["wordpiece","byte-level-bpe","unigram"].includes(n))throw e.fault(`tokenizer kind ${M(n)} is not known`);let s=r.take("lowercase","boolean","null");if(s===null==(n==="wordpiece"))throw e.fault(`tokenizer lowercase does not fit kind ${n}`);let o=r.object("template"),i=r.has("spelling")&&r.take("spelling","string","null")!==null,a={file:be,vocab:n==="wordpiece"?ct:null,truncation:t,...i?{spelling:_e}:{}};for(let[l,c]of Object.entries(a))if(r.take(l,"string","null")!==c)throw e.fault(`tokenizer ${l} is ${M(r.data[l])}, not ${M(c)}`);if(i&&!s)throw e.fault(`tokenizer spelling does not fit a ${n} that keeps capitals`);return{kind:n,lowercase:s,padId:r.integer("pad_id",0,ea),single:ar(o,"single",["$A"]),pair:o.take("pair","array","null")===null?null:ar(o,"pair",["$A","$B"]),spelling:i,sortTexts:r.has("sort_texts")&&r.truth("sort_texts")}}function ia(e){if(e.take("embedding","object","null")===null)return null;let t=e.object("embedding").only("size","normalized");return{size:t.integer("size",1,65536),normalized:t.truth("normalized")}}function aa(e){return Object.fromEntries(Object.keys(e.data).map(t=>{let r=e.text(t);if(!/^[0-9]{1,6}(\.[0-9]{1,6}){0,3}$/.test(r))throw e.fault(`minimum_runtime of ${M(t)} is ${M(r)}, not a version such as 2.14`);return[t,r]}))}function la(e){if(e.take("length_shift","object","null")===null)return null;let t=e.object("length_shift"),r=t.numbers("quartiles",0,Mt),n=t.numbers("added",-On,On);try{return new yt(r,n)}catch(s){throw s instanceof RangeError?new C(`${e.where}: length_shift: ${s.message}; export the artefact again`):s}}var Rn,Ye,be,ct,_e,Sn,Ke,Me,ur,Fr,Mt,lr,Qi,cr,On,ea,bt,ta,ra,lt,ve=H(()=>{"use strict";Ae();x();xn();Dt();Rn=1,Ye="io.json",be="tokenizer.json",ct="vocab.txt",_e="spelling.txt",Sn={tflite:"model.tflite",onnx:"model.onnx"},Ke=["input_ids","attention_mask","token_type_ids"],Me="logits",ur="embedding",Fr="packed",Mt=34e37,lr=[3,65536],Qi=64,cr=1e3,On=100,ea=2**31-1,bt={"text-matching":{texts:[2],activations:["softmax","sigmoid","identity"],truncation:"longest_first"},"text-classification":{texts:[1,2],activations:["softmax","sigmoid","identity"],truncation:"longest_first"},"token-classification":{texts:[1],activations:["softmax"],truncation:"longest_first"},"question-answering":{texts:[2],activations:[null],truncation:"only_second"},"sentence-embedding":{texts:[1],activations:[null],truncation:"longest_first"}},ta=["format","task","target","quant","model_file","texts","seq_len","buckets","inputs","outputs","labels","activation","positive","threshold","temperature","length_shift","embedding","attention_mask_value","tokenizer","context","minimum_runtime"],ra=["kind","file","vocab","lowercase","truncation","pad_id","template","spelling","sort_texts"],lt=class e{constructor(t,r,n,s,o,i,a,l,c,F,u,d,f,p,A,m,E){this.task=t;this.target=r;this.quant=n;this.modelFile=s;this.texts=o;this.buckets=i;this.inputs=a;this.labels=l;this.activation=c;this.tokenizer=F;this.embedding=u;this.stride=d;this.minimumRuntime=f;this.positive=p;this.threshold=A;this.temperature=m;this.lengthShift=E}task;target;quant;modelFile;texts;buckets;inputs;labels;activation;tokenizer;embedding;stride;minimumRuntime;positive;threshold;temperature;lengthShift;get seqLen(){return this.buckets.at(-1).seqLen}get symmetric(){return this.task==="text-matching"&&(this.embedding!==null||this.tokenizer.sortTexts)}get files(){let{kind:t,spelling:r}=this.tokenizer;return[Ye,this.modelFile,be,...t==="wordpiece"?[ct]:[],...r?[_e]:[]]}bucket(t){return this.buckets.find(r=>r.seqLen>=t)??this.buckets.at(-1)}outputs(t){let r={};return this.task==="token-classification"?r[Me]=[1,t,this.labels.length]:this.task==="question-answering"?r[Me]=[1,t,2]:this.task!=="sentence-embedding"&&(r[Me]=[1,this.labels.length]),this.embedding&&(r[ur]=[1,this.embedding.size]),r}static read(t,r){let n=new G(t,r),s=n.integer("format",-Number.MAX_VALUE,Number.MAX_VALUE);if(s!==Rn)throw n.fault(`format is ${s}, this version reads format ${Rn}`);let o=n.text("target"),i=n.text("model_file");if(!Object.hasOwn(Sn,o)||Sn[o]!==i)throw n.fault(`target ${M(o)} with model file ${M(i)} is not known`);let a=n.text("task");if(!Object.hasOwn(bt,a))throw n.fault(`task ${M(a)} is none of ${Object.keys(bt).join(", ")}`);let l=a==="text-matching",c=new e(a,o,n.text("quant"),i,n.integer("texts",1,2),sa(n),n.objects("inputs",Ke.length).map(f=>f.text("name")),n.texts("labels",0,cr),n.take("activation","string","null"),oa(n,bt[a].truncation),ia(n),a==="question-answering"?n.object("context").integer("stride",0,lr[1]):null,aa(n.object("minimum_runtime")),l?n.integer("positive",0,cr):0,l?n.number("threshold",-Mt,Mt):.5,l?n.number("temperature",.001,1e3):1,l?la(n):null);n.number("attention_mask_value",-Mt,0),na(c,n);let F=([f,p],A)=>({name:f,dtype:A,shape:p}),u=c.inputs.map(f=>F([f,[1,c.seqLen]],"int32")),d=Object.entries(c.outputs(c.seqLen)).map(f=>F(f,"float32"));for(let[f,p]of[["inputs",u],["outputs",d]])if(!at(n.take(f,"array"),p))throw n.fault(`${f} are not ${JSON.stringify(p)}`);return n.only(...ta),c}}});function he(e,t){return`${e}[${[...t].join(", ")}]`}function vt(e,t,r,n,s){let o=Object.fromEntries(t.inputs.map(a=>[a,he("int32",[1,r])])),i=Object.entries(t.outputs(r)).map(([a,l])=>[a,he("float32",l)]);for(let[a,l,c]of[["inputs",n,o],["outputs",s,Object.fromEntries(i)]])if(_t(l)!==_t(c))throw new C(`${e}: its ${a} are ${_t(l)} but io.json needs ${_t(c)}; export it again`)}function _t(e){return Object.keys(e).sort().map(t=>`${t} ${e[t]}`).join(", ")}function kt(e,t,r){let[n,s,o]=Ke.map(()=>new Int32Array(e.length*t));n.fill(r.tokenizer.padId),e.forEach((a,l)=>{n.set(a.ids,l*t),s.fill(1,l*t,l*t+a.ids.length),o.set(a.types,l*t)});let i={input_ids:n,attention_mask:s,token_type_ids:o};return{rows:e.length,width:t,tensors:Object.fromEntries(r.inputs.map(a=>[a,i[a]]))}}function dr(e,t,r){let n=e[t];if(!n||n.shape.join()!==r.join()||!n.data.every(Number.isFinite))throw new C("the network's answer is not a row of finite numbers; export the artefact again");return n.data}var ke,Te=H(()=>{"use strict";ve();x();ke={logits:Me,embedding:ur}});async function Ys(e){if(typeof importScripts=="function")importScripts(e.toString());else{let t=document.createElement("script");return t.src=e.toString(),t.crossOrigin="anonymous",new Promise((r,n)=>{t.addEventListener("load",()=>{r()},!1),t.addEventListener("error",s=>{n(s)},!1),document.body.appendChild(t)})}}var Xs,Zs=H(()=>{Xs=async(e,t,r,n,s)=>{if(t&&await Ys(t),!self.ModuleFactory)throw new Error("ModuleFactory not set.");if(r&&(await Ys(r),!self.ModuleFactory))throw new Error("ModuleFactory not set.");if(self.Module&&s){let i=self.Module;i.locateFile=s.locateFile,s.mainScriptUrlOrBlob&&(i.mainScriptUrlOrBlob=s.mainScriptUrlOrBlob)}let o=await self.ModuleFactory(self.Module||s);return self.ModuleFactory=self.Module=void 0,new e(o,n)}});function Se(e){for(let t of Sc)if(t.dtype===e||t.typedArrayConstructor===e||e instanceof t.typedArrayConstructor||t.elementType===e)return t;throw typeof e=="string"?new Error(`DType ${e} is not supported.`):e instanceof Object?new Error(`Typed array ${"name"in e?e.name:e.constructor.name} is not supported.`):new Error(`Element type ${io[e]??e} is not supported.`)}function N(){if(!Gt)throw new Oc;return Gt}function Qs(){return!!Gt}function ao(e){Gt=e}function $c(){return Pr}function lo(){return!!Pr}function Tr(e){Pr=e}async function zc(){let e={powerPreference:"high-performance"},t=await navigator.gpu.requestAdapter(e);if(!t)throw new Error("No GPU adapter found.");let r={maxBufferSize:t.limits.maxBufferSize,maxStorageBufferBindingSize:t.limits.maxStorageBufferBindingSize,maxStorageBuffersPerShaderStage:t.limits.maxStorageBuffersPerShaderStage,maxTextureDimension2D:t.limits.maxTextureDimension2D},n=[];for(let s of Uc)t.features.has(s)&&n.push(s);return await t.requestDevice({requiredFeatures:n,requiredLimits:r})}function At(e){let t=new Array(e.size());for(let r=0;r<e.size();++r)t[r]=e.get(r);return e.delete(),t}function uo(e,t){for(let r of e)t.push_back(r)}function jc(e){let t=e.shift(),r=N().liteRtWasm;if(t instanceof r.LiteRtTensorBuffer)return{liteRtTensorBuffer:t};if(ArrayBuffer.isView(t))return{typedArray:t};if(t instanceof GPUBuffer)return{gpuBuffer:t};throw new Error(`Unknown type (${t?.constructor.name??t}) provided to create a Tensor`)}function Wc(e){return Array.isArray(e[0])||e[0]instanceof Int32Array?{shape:e.shift()}:{}}function Sr(e){for(;e.length>0&&e[0]===void 0;)e.shift()}function Gc(e){if(Sr(e),typeof e[0]=="string"){let t=e.shift();return{dataType:Se(t).dtype}}else return{}}function qc(e){return Sr(e),e[0]instanceof Rr?{environment:e.shift()}:{}}function Hc(e){return Sr(e),e[0]instanceof Function?{onDelete:e.shift()}:{}}function Vc(e){return{...jc(e),...Wc(e),...Gc(e),...qc(e),...Hc(e)}}function Jc(e){let t=e.tensorType(),r=t.elementType(),n=t.layout(),s=n.dimensions();return n.delete(),t.delete(),{dtype:Se(r.value).dtype,layout:{dimensions:At(s)}}}function Kc(e,t,r,n){let o=N().liteRtWasm,i=new o.VectorInt32;uo(t,i);let a=o.LiteRtLayout.create(i);i.delete();let l=o.LiteRtRankedTensorType.create({value:Se(r).elementType},a);a.delete();let c=o.WebGPU.importJsBuffer(e),F=o.LiteRtTensorBuffer.createFromWebGpuBuffer(n.liteRtEnvironment,l,o.LiteRtTensorBufferType.WEB_GPU_BUFFER_PACKED,c,e.size);return l.delete(),[F,c]}function Yc(e,t,r){let n=N(),s=n.liteRtWasm;r=r??n.getDefaultEnvironment();let o=Se(e).elementType,i=new s.VectorInt32;uo(t??[e.length],i);let a=s.LiteRtLayout.create(i);i.delete();let l=a.numElements();if(e.length!==l)throw a.delete(),new Error(`Number of elements ${e.length} of the provided TypedArray does not match the expected number of elements ${l}.`);let c=s.LiteRtRankedTensorType.create({value:o},a);a.delete();let u=e.constructor.BYTES_PER_ELEMENT*e.length,d=c.bytes();if(u!==d)throw c.delete(),new Error(`Byte length ${u} of the provided TypedArray does not match the expected buffer size ${d}.`);let f=s.LiteRtTensorBuffer.createManaged(r.liteRtEnvironment,s.LiteRtTensorBufferType.HOST_MEMORY,c,u);c.delete();let p=f.lock(s.LiteRtTensorBufferLockMode.WRITE);try{let A=new Uint8Array(e.buffer,e.byteOffset,e.byteLength);s.HEAPU8.set(A,p)}finally{f.unlock()}return f}function eo(e,t,r,n){let s=r.layout(),o=At(s.dimensions());s.delete();let i=new Set(At(n.supportedTypes()).map(({value:l})=>l)),a={name:e,index:t,dtype:Se(r.elementType().value).dtype,shape:new Int32Array(o),supportedBufferTypes:i};return r.delete(),n.delete(),a}async function Qc(e){let t=await fetch(e);return new Uint8Array(await t.arrayBuffer())}async function eu(e){let t=0,r=new Uint8Array(1024),n=2e9;for(;;){let{done:s,value:o}=await e.read();if(o){if(r.byteLength<t+o.byteLength){if(t+o.byteLength>n)throw new Error(`Model is too large (> ${n} bytes).`);let i=new Uint8Array(Math.min(n,Math.max(r.byteLength,o.byteLength)*2));i.set(r),r=i}r.set(o,t),t+=o.byteLength}if(s)break}return r.slice(0,t)}function ru(e={},t,r){return{environment:t,accelerator:e.accelerator??(t.webGpuDevice?"webgpu":"wasm"),cpuOptions:e.cpuOptions??{numThreads:r},gpuOptions:e.gpuOptions??{},webNNOptions:e.webNNOptions??{}}}function Fo(){return"Suspending"in WebAssembly}function ou(){return typeof navigator<"u"&&!!navigator.ml}async function to(e){try{return await WebAssembly.instantiate(e),{supported:!0}}catch(t){return{supported:!1,error:t}}}async function iu(e){let t=fo[e]?.();if(!t)throw new Error(`Unknown feature: ${e}`);return(await t).supported}async function ro(e){let t=fo[e]?.();if(!t)throw new Error(`Unknown feature: ${e}`);let r=await t;if(!r.supported)throw r.error}function po(e,t){return N().loadAndCompile(e,t)}function lu(e,t){if(!e)return t;if(!t)return e;let r=e.endsWith("/")?e:e+"/",n=t.startsWith("/")?t.substring(1):t;return r+n}async function fu(e,t){let r=e,n=r.endsWith(".wasm")||r.endsWith(".js"),s=await iu("relaxedSimd");if(t?.threads){if(t?.jspi)throw new Error("The `threads` and `jspi` options are mutually exclusive.");if(n&&console.warn(`The \`threads\` option was specified, but the wasm path ${r} is a full file path. Whether threads are available or not will depend on the loaded file. To allow LiteRT.js to load the threaded wasm file, use a directory path instead of a full file path.`),!s)throw new Error("Threads are only supported with relaxed SIMD, and the current browser does not support relaxed SIMD.");await ro("threads")}t?.jspi&&(n&&console.warn(`The \`jspi\` option was specified, but the wasm path ${r} is a full file path. Whether JSPI is available or not will depend on the loaded file. To allow LiteRT.js to load the JSPI wasm file, use a directory path instead of a full file path.`),await ro("jspi"));let o=uu;s&&(t?.threads?o=Fu:t?.jspi?o=du:o=cu);let i=e;if(r.endsWith(".wasm"))throw new Error("Please load the `.js` file corresponding to the `.wasm` file, or load the directory containing it.");return r.endsWith(".js")||(i=lu(e,o)),Xs(au,i)}function Ao(e,t){if(lo())throw new Error("LiteRT is already loading / loaded.");return Tr(fu(e,t).then(async r=>(ao(r),r.setDefaultEnvironment(await Rr.create()),r)).catch(r=>{throw Tr(void 0),r})),$c()}function ho(){if(lo()&&!Qs())throw new Error("LiteRT is loading and can not be unloaded or canceled until it is finished loading.");Qs()&&(N().delete(),ao(void 0)),Tr(void 0)}async function no(e,t={}){let r=t.environment??e.environment,n=N().liteRtWasm,s=e.liteRtTensorBuffer;if(s.bufferType().value!==O.HOST_MEMORY)throw new Error("Source tensor is not in host memory. Cannot copy to host memory.");let i=s.lock(n.LiteRtTensorBufferLockMode.READ),a;try{a=n.LiteRtTensorBuffer.createManaged(r.liteRtEnvironment,n.LiteRtTensorBufferType.HOST_MEMORY,s.tensorType(),s.size());let l=a.lock(n.LiteRtTensorBufferLockMode.WRITE);try{let c=new Uint8Array(n.HEAPU8.buffer,i,s.size());n.HEAPU8.set(c,l)}finally{a.unlock()}}finally{s.unlock()}if(!a)throw new Error("Failed to create destination tensor buffer.");return new ie(a,r)}async function so(e,t={}){let r=t.environment??e.environment,n=r.webGpuDevice;if(!n)throw new Error("No WebGPU device is available. Did you forget to pass a destination environment that has a WebGPU device?");let s=N().liteRtWasm,i=e.liteRtTensorBuffer.size()+3&-4,a=n.createBuffer({size:i,usage:GPUBufferUsage.MAP_WRITE|GPUBufferUsage.COPY_SRC,mappedAtCreation:!0}),l=await a.getMappedRange(),c=new Uint8Array(l),F=e.liteRtTensorBuffer.lock(s.LiteRtTensorBufferLockMode.READ);try{let f=new Uint8Array(s.HEAPU8.buffer,F,e.liteRtTensorBuffer.size());c.set(f)}finally{e.liteRtTensorBuffer.unlock()}a.unmap();let u=n.createBuffer({size:i,usage:GPUBufferUsage.COPY_SRC|GPUBufferUsage.COPY_DST|GPUBufferUsage.STORAGE}),d=n.createCommandEncoder();return d.copyBufferToBuffer(a,0,u,0,i),n.queue.submit([d.finish()]),a.destroy(),new ie(u,e.type.layout.dimensions,e.type.dtype,r,()=>{u.destroy()})}async function oo(e,t={}){let r=t.environment??e.environment,n=e.environment.webGpuDevice;if(!n)throw new Error("No WebGPU device is available. Does the source tensor have a WebGPU device?");let s=N().liteRtWasm,o=e.liteRtTensorBuffer,i=o.bufferType();if(i!==s.LiteRtTensorBufferType.WEB_GPU_BUFFER_PACKED)throw new Error(`Cannot convert a tensor with a non-WebGPU buffer type ${i} to a CPU tensor.`);let a=s.WebGPU.getJsObject(o.getWebGpuBuffer()),l=o.offset(),c=o.tensorType(),F=c.layout(),u=F.numElements(),d=Se(c.elementType().value).typedArrayConstructor;F.delete(),c.delete();let f=a,p=()=>{};if(!(a.usage&GPUBufferUsage.MAP_READ)){f=n.createBuffer({size:a.size,usage:GPUBufferUsage.COPY_DST|GPUBufferUsage.MAP_READ}),p=()=>{f.destroy()};let h=n.createCommandEncoder();h.copyBufferToBuffer(a,0,f,0,a.size),n.queue.submit([h.finish()])}await f.mapAsync(GPUMapMode.READ);let A=f.getMappedRange(),m=new d(A,l,u),E=new ie(m,e.type.layout.dimensions,r);return f.unmap(),p(),E}function kr(e){return async(t,r)=>{let n=await e(t,r);return t.delete(),n}}function pu(){ie.copyFunctions.set(O.HOST_MEMORY,new Map([[O.HOST_MEMORY,{copyTo:no,moveTo:kr(no)}],[O.WEB_GPU_BUFFER_PACKED,{copyTo:so,moveTo:kr(so)}]])),ie.copyFunctions.set(O.WEB_GPU_BUFFER_PACKED,new Map([[O.HOST_MEMORY,{copyTo:oo,moveTo:kr(oo)}]]))}var v,io,O,Re,Sc,Oc,Gt,Pr,Nc,Ic,Uc,Rr,ie,Xc,Zc,tu,nu,su,z,fo,au,cu,uu,Fu,du,R2,Eo=H(()=>{Zs();v={NONE:0,FLOAT32:1,INT32:2,UINT8:3,INT64:4,STRING:5,BOOL:6,INT16:7,COMPLEX64:8,INT8:9,FLOAT16:10,FLOAT64:11,COMPLEX128:12,UINT64:13,RESOURCE:14,VARIANT:15,UINT32:16,UINT16:17,INT4:18,BFLOAT16:19},io={[v.NONE]:"NONE",[v.FLOAT32]:"FLOAT32",[v.INT32]:"INT32",[v.UINT8]:"UINT8",[v.INT64]:"INT64",[v.STRING]:"STRING",[v.BOOL]:"BOOL",[v.INT16]:"INT16",[v.COMPLEX64]:"COMPLEX64",[v.INT8]:"INT8",[v.FLOAT16]:"FLOAT16",[v.FLOAT64]:"FLOAT64",[v.COMPLEX128]:"COMPLEX128",[v.UINT64]:"UINT64",[v.RESOURCE]:"RESOURCE",[v.VARIANT]:"VARIANT",[v.UINT32]:"UINT32",[v.UINT16]:"UINT16",[v.INT4]:"INT4",[v.BFLOAT16]:"BFLOAT16"},O={HOST_MEMORY:1,WEB_GPU_BUFFER:20,WEB_GPU_BUFFER_FP16:21,WEB_GPU_BUFFER_PACKED:26},Re={[O.HOST_MEMORY]:"HOST_MEMORY",[O.WEB_GPU_BUFFER]:"WEB_GPU_BUFFER",[O.WEB_GPU_BUFFER_FP16]:"WEB_GPU_BUFFER_FP16",[O.WEB_GPU_BUFFER_PACKED]:"WEB_GPU_BUFFER_PACKED"},Sc=Object.freeze([{dtype:"float32",typedArrayConstructor:Float32Array,elementType:v.FLOAT32},{dtype:"int32",typedArrayConstructor:Int32Array,elementType:v.INT32},{dtype:"uint8",typedArrayConstructor:Uint8Array,elementType:v.UINT8}]);Oc=class extends Error{constructor(){super("LiteRT is not initialized yet. Please call loadLiteRt() and wait for its promise to resolve to load the LiteRT WASM module.")}},Gt=void 0,Pr=void 0;Nc={webgpu:O.WEB_GPU_BUFFER_PACKED,wasm:O.HOST_MEMORY},Ic={[O.HOST_MEMORY]:"wasm",[O.WEB_GPU_BUFFER]:"webgpu",[O.WEB_GPU_BUFFER_FP16]:"webgpu",[O.WEB_GPU_BUFFER_PACKED]:"webgpu"},Uc=["shader-f16","subgroups"],Rr=class co{constructor(t){this.options=t,this.liteRtEnvironment=N().liteRtWasm.LiteRtEnvironment.create(t.webGpuDevice)}liteRtEnvironment;static async create(t={}){let r=null;if("webGpuDevice"in t)t.webGpuDevice&&(r=t.webGpuDevice);else try{r=await zc()}catch(n){console.warn("Failed to create default WebGPU device:",n)}return new co({...t,webGpuDevice:r})}get webGpuDevice(){return this.options.webGpuDevice}delete(){this.liteRtEnvironment.delete()}};ie=class xr{liteRtTensorBuffer;type;environment;deletedInternal=!1;onDelete;static copyFunctions=new Map;constructor(t,r,n,s,o){let{typedArray:i,gpuBuffer:a,liteRtTensorBuffer:l,shape:c,dataType:F,environment:u,onDelete:d}=Vc([t,r,n,s,o]);if(this.onDelete=d,this.environment=u??N().getDefaultEnvironment(),l){if(c)throw new Error("A LiteRtTensorBuffer cannot be provided with a shape.");if(F)throw new Error("A LiteRtTensorBuffer cannot be provided with a data type.");this.liteRtTensorBuffer=l}else if(a){if(!c)throw new Error("A GPUBuffer must be provided with a shape.");if(!F)throw new Error("A GPUBuffer must be provided with a data type.");let[f,p]=Kc(a,c,F,this.environment);this.liteRtTensorBuffer=f;let A=this.onDelete;this.onDelete=()=>{N().liteRtWasm.wgpuBufferRelease(p),A?.()}}else if(i)this.liteRtTensorBuffer=Yc(i,c,u);else throw new Error("No data provided to create a Tensor.");this.type=Jc(this.liteRtTensorBuffer)}static fromTypedArray(t,r,n){return new xr(t,r,n)}ensureNotDeleted(){if(this.deleted)throw new Error("Tensor is deleted and cannot be used.")}async data(){if(this.ensureNotDeleted(),this.liteRtTensorBuffer.bufferType().value===O.HOST_MEMORY)return this.toTypedArray();let t=await this.copyTo("wasm"),r=await t.data();return t.delete(),r}toTypedArray(){this.ensureNotDeleted();let t=N().liteRtWasm;if(this.liteRtTensorBuffer.isWebGpuMemory())throw new Error("Cannot convert a Tensor with WebGPU memory to a TypedArray.");if(this.liteRtTensorBuffer.bufferType().value!==t.LiteRtTensorBufferType.HOST_MEMORY.value)throw new Error("Cannot convert a Tensor with non-host memory to a TypedArray.");if(this.liteRtTensorBuffer.size()!==this.liteRtTensorBuffer.packedSize()||this.liteRtTensorBuffer.offset()!==0)throw new Error("Tensors with strides or padding are not yet supported.");let r=this.liteRtTensorBuffer.tensorType(),n=r.elementType(),s=t.liteRtGetByteWidth(n);r.delete();let o=Se(n.value).typedArrayConstructor;if(o.BYTES_PER_ELEMENT!==s)throw new Error(`Byte width ${s} of the tensor's element type ${io[n.value]} does not match the expected byte width ${o.BYTES_PER_ELEMENT} of the ${o.name}.`);let i=this.liteRtTensorBuffer.lock(N().liteRtWasm.LiteRtTensorBufferLockMode.READ);try{let a=t.HEAPU8.slice(i,i+this.liteRtTensorBuffer.packedSize());return new o(a.buffer,a.byteOffset,a.byteLength/s)}finally{this.liteRtTensorBuffer.unlock()}}getBufferType(){return this.ensureNotDeleted(),this.liteRtTensorBuffer.bufferType().value}toGpuBuffer(){this.ensureNotDeleted();let t=N().liteRtWasm;if(!this.liteRtTensorBuffer.isWebGpuMemory())throw new Error("Cannot convert a Tensor with non-WebGPU memory to a GPUBuffer.");let r=this.liteRtTensorBuffer.bufferType().value;if(r!==t.LiteRtTensorBufferType.WEB_GPU_BUFFER.value&&r!==t.LiteRtTensorBufferType.WEB_GPU_BUFFER_FP16.value&&r!==t.LiteRtTensorBufferType.WEB_GPU_BUFFER_PACKED.value)throw new Error("Cannot convert a Tensor with host memory to a GPUBuffer.");if(this.liteRtTensorBuffer.size()!==this.liteRtTensorBuffer.packedSize()||this.liteRtTensorBuffer.offset()!==0)throw new Error("Tensors with strides or padding are not yet supported.");let n=this.liteRtTensorBuffer.getWebGpuBuffer();return t.WebGPU.getJsObject(n)}getCopyFunctionSet(t){this.ensureNotDeleted();let r=this.getBufferType(),n=xr.copyFunctions.get(r);if(!n)throw new Error(`TensorBufferType ${Re[r]??r} does not support copying or moving`);let s=typeof t=="string"?Nc[t]:t;if(s==null)throw new Error(`Unknown destination '${t}' for copying or moving.`);let o=n.get(s);if(!o){let i=[...n].map(([a])=>Re[a]??a);throw new Error(`TensorBufferType ${Re[r]} does not support copying or moving to ${Re[s]}. It supports the following TensorBufferTypes: [${i.join(", ")}].`)}return[o,s]}async copyTo(t,r){let[n,s]=this.getCopyFunctionSet(t);if(!n.copyTo)throw new Error(`Copying to ${Re[s]} is not supported by this tensor.`);return n.copyTo(this,r)}async moveTo(t,r){let[n,s]=this.getCopyFunctionSet(t);if(!n.moveTo)throw new Error(`Moving to ${Re[s]} is not supported by this tensor.`);return n.moveTo(this,r)}get bufferType(){return this.liteRtTensorBuffer.bufferType().value}get accelerator(){let t=Ic[this.bufferType];if(t===void 0)throw new Error(`TensorBufferType ${Re[this.bufferType]} has an unknown accelerator type.`);return t}get deleted(){return this.deletedInternal}delete(){this.deletedInternal||(this.deletedInternal=!0,this.liteRtTensorBuffer.delete(),this.onDelete?.())}};Xc=class{constructor(e,t,r,n){this.signatureIndex=e,this.liteRtModel=t,this.liteRtCompiledModel=r,this.options=n,this.liteRtSimpleSignature=t.getSignature(e);let s=At(this.liteRtSimpleSignature.inputNames()),o=[];for(let l=0;l<s.length;l++){let c=s[l],F=t.getInputTensorType(e,l),u=r.getInputBufferRequirements(e,l);o.push(eo(c,l,F,u))}this.inputDetails=Object.freeze(o);let i=At(this.liteRtSimpleSignature.outputNames()),a=[];for(let l=0;l<i.length;l++){let c=i[l],F=t.getOutputTensorType(e,l),u=r.getOutputBufferRequirements(e,l);a.push(eo(c,l,F,u))}this.outputDetails=Object.freeze(a)}inputDetails;outputDetails;liteRtSimpleSignature;deletedInternal=!1;get key(){return this.ensureNotDeleted(),this.liteRtSimpleSignature.key()}getInputDetails(){return this.ensureNotDeleted(),this.inputDetails}getOutputDetails(){return this.ensureNotDeleted(),this.outputDetails}async run(e){this.ensureNotDeleted();let t=this.inputsToArray(e),{inputsOnAccelerator:r,cleanup:n}=await this.ensureInputsOnAccelerator(t),s;try{s=await this.runWithArray(r)}finally{n()}return Array.isArray(e)||e instanceof ie?s:this.outputsToRecord(s)}inputsToArray(e){if(Array.isArray(e)){if(e.length!==this.inputDetails.length)throw new Error(`run() called with ${e.length} inputs, but signature expects ${this.inputDetails.length} inputs`);return e}if(e instanceof ie){if(this.inputDetails.length!==1)throw new Error(`run() called with a single tensor, but signature expects ${this.inputDetails.length} inputs`);return[e]}let t=[];for(let r of this.inputDetails){if(!(r.name in e))throw new Error(`run() called with input record that is missing input ${r.name} with index ${r.index}`);t.push(e[r.name])}return t}outputsToRecord(e){let t={};for(let r=0;r<this.outputDetails.length;r++)t[this.outputDetails[r].name]=e[r];return t}async ensureInputsOnAccelerator(e){let t=[],r=[],n=this.getInputDetails();if(e.length!==n.length)throw new Error(`ensureInputsOnAccelerator() called with ${e.length} inputs, but signature expects ${n.length} inputs`);for(let s=0;s<e.length;s++){let o=e[s],i=o.getBufferType(),a=n[s].supportedBufferTypes;if(a.size===0)throw new Error(`Tensor ${n[s].name} with index ${n[s].index} has no supported buffer types.`);if(a.has(i))r.push(o);else{let l=a.values().next().value,c=await o.copyTo(l);t.push(c),r.push(c)}}return{inputsOnAccelerator:r,cleanup:()=>{for(let s of t)s.delete()}}}async runWithArray(e){for(let r=0;r<e.length;r++){let n=e[r],s=this.liteRtModel.getInputTensorType(this.signatureIndex,r),o=this.liteRtCompiledModel.getInputBufferRequirements(this.signatureIndex,r);N().liteRtWasm.checkTensorBufferCompatible(n.liteRtTensorBuffer,s,o),s.delete(),o.delete()}return(await this.liteRtCompiledModel.run(this.signatureIndex,e.map(r=>r.liteRtTensorBuffer))).map(r=>new ie(r,this.options.environment))}get deleted(){return this.deletedInternal}ensureNotDeleted(){if(this.deleted)throw new Error("CompiledModelSignatureRunner is deleted and cannot be used.")}delete(){this.deletedInternal||(this.deletedInternal=!0,this.liteRtSimpleSignature.delete())}};Zc=class{constructor(e,t,r,n){this.model=e,this.liteRtCompiledModel=t,this.options=r,this.onDelete=n;let s=e.liteRtModel.getNumSignatures(),o={};for(let i=0;i<s;i++){let a=new Xc(i,e.liteRtModel,t,r);o[a.key]=a}this.compiledModelSignatureRunners=Object.freeze(o),this.defaultSignature=Object.values(this.signatures)[0],this.key=this.defaultSignature.key}defaultSignature;compiledModelSignatureRunners;key;deletedInternal=!1;get signatures(){return this.ensureNotDeleted(),this.compiledModelSignatureRunners}getInputDetails(){return this.ensureNotDeleted(),this.defaultSignature.getInputDetails()}getOutputDetails(){return this.ensureNotDeleted(),this.defaultSignature.getOutputDetails()}async run(e,t){this.ensureNotDeleted();let[r,n]=this.parseRunInputs(e,t);return await r.run(n)}parseRunInputs(e,t){let r,n;if(typeof e=="string"){if(r=this.signatures[e],!r)throw new Error(`No signature named ${e} found in model.`);if(!t)throw new Error(`No input provided for signature ${e}`);n=t}else r=this.defaultSignature,n=e;return[r,n]}get deleted(){return this.deletedInternal}ensureNotDeleted(){if(this.deleted)throw new Error("CompiledModel is deleted and cannot be used.")}get isFullyAccelerated(){return this.ensureNotDeleted(),this.liteRtCompiledModel.isFullyAccelerated()}delete(){if(!this.deletedInternal){this.deletedInternal=!0,this.liteRtCompiledModel.delete(),this.model.delete();for(let e of Object.values(this.compiledModelSignatureRunners))e.delete();this.onDelete()}}};tu=class{constructor(e,t){this.liteRtModel=e,this.onDelete=t}delete(){this.liteRtModel.delete(),this.onDelete()}};nu=new Uint8Array([0,97,115,109,1,0,0,0,1,5,1,96,0,1,123,3,2,1,0,10,15,1,13,0,65,1,253,15,65,2,253,15,253,128,2,11]),su=new Uint8Array([0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,5,4,1,3,1,1,10,11,1,9,0,65,0,254,16,2,0,26,11]),z={relaxedSimd:void 0,threads:void 0,jspi:void 0,webnn:void 0};fo={relaxedSimd:()=>(z.relaxedSimd===void 0&&(z.relaxedSimd=to(nu)),z.relaxedSimd),threads:()=>{if(z.threads===void 0)try{typeof MessageChannel<"u"&&new MessageChannel().port1.postMessage(new SharedArrayBuffer(1)),z.threads=to(su)}catch(e){z.threads=Promise.resolve({supported:!1,error:e})}return z.threads},jspi:()=>{if(z.jspi===void 0){let e=Fo();z.jspi=Promise.resolve({supported:e,error:e?void 0:new Error("JSPI is not supported")})}return z.jspi},webnn:()=>{if(z.webnn===void 0){let e=ou();z.webnn=Promise.resolve({supported:e,error:e?void 0:new Error("WebNN is not supported")})}return z.webnn}};au=class{liteRtWasm;defaultEnvironment;objectsToDelete=new Set;constructor(e){this.liteRtWasm=e,this.liteRtWasm.setupLogging()}setDefaultEnvironment(e){this.defaultEnvironment=e}getDefaultEnvironment(){if(!this.defaultEnvironment)throw new Error("Default environment is not set.");return this.defaultEnvironment}setWebGpuDevice(e){let t=this.getDefaultEnvironment();this.setDefaultEnvironment(new Rr({...t.options,webGpuDevice:e}))}getWebGpuDevice(){return this.getDefaultEnvironment().webGpuDevice}_registerObjectForDeletion(e){this.objectsToDelete.add(e)}_unregisterObjectForDeletion(e){this.objectsToDelete.delete(e)}async loadAndCompile(e,t={}){let r;if(typeof e=="string"||e instanceof URL)r=await Qc(e);else if(e instanceof Uint8Array)r=e;else if(e instanceof ReadableStreamDefaultReader)r=await eu(e);else throw new Error("Unsupported model type.");let n=t.environment??this.getDefaultEnvironment(),s=t.accelerator??(n.webGpuDevice?"webgpu":"wasm"),o=s==="webgpu";if(o&&!n.webGpuDevice)throw new Error("WebGPU was requested but no WebGPU device is set in the environment.");let i=ru(t,n,this.liteRtWasm.getThreadCount()),a=this.liteRtWasm._malloc(r.byteLength);this.liteRtWasm.HEAPU8.set(r,a);let l=this.liteRtWasm.loadModel(i.environment.liteRtEnvironment,a,r.byteLength),c=await this.liteRtWasm.compileModel(i.environment.liteRtEnvironment,l,i),F=new tu(l,()=>{this.liteRtWasm._free(a)}),u=new Zc(F,c,i,()=>{this.objectsToDelete.delete(u)});if(this.objectsToDelete.add(u),(o||s==="webnn")&&!u.isFullyAccelerated)if(Fo())console.warn(`%c[LiteRT]%c Model not fully compiled for ${s}. Partially delegating to WASM execution.`,"background: #FFA000; color: black; font-weight: bold; padding: 2px 5px; border-radius: 3px;","font-weight: bold;");else{console.warn(`%c[LiteRT]%c Model not fully compiled for ${s} on non-JSPI browser. Falling back to WASM execution.`,"background: #D32F2F; color: white; font-weight: bold; padding: 2px 5px; border-radius: 3px;","color: #D32F2F; font-weight: bold;"),u.delete();let p={...t,accelerator:"wasm"};return this.loadAndCompile(r,p)}return u}delete(){for(let e of this.objectsToDelete)e.delete()}};cu="litert_wasm_internal.js",uu="litert_wasm_compat_internal.js",Fu="litert_wasm_threaded_internal.js",du="litert_wasm_jspi_internal.js";R2=Promise.resolve();pu()});var go={};or(go,{openLiteRt:()=>mu});async function hu({wasm:e,threads:t,accelerator:r}){if(et&&et.threads!==t>1)throw new re("LiteRT.js is loaded already, with another choice of threads; use another worker for this model");Eu(e);let n=console.warn;r==="wasm"&&(console.warn=(...s)=>s[0]===Au||n(...s)),et??={threads:t>1,wasm:e,done:Ao(e,{threads:t>1})};try{await et.done}catch(s){throw et=null,new re(`LiteRT.js can't be loaded from ${e} (${V(s)}); give the folder of its .wasm files`)}finally{console.warn=n}}function Eu(e){let t=e.endsWith("/")?e:`${e}/`,r=n=>{/^INFO:|npu_registry/.test(n)||console.warn(n)};globalThis.Module={print:r,printErr:r,locateFile:n=>t+n,mainScriptUrlOrBlob:`${t}litert_wasm_threaded_internal.js`}}function Co(e){if(e instanceof WebAssembly.RuntimeError){et=null;try{ho()}catch{}}}async function mu(e,t,r,n){await hu(n);let s;try{s=await po(t,{accelerator:n.accelerator,...n.accelerator==="wasm"?{cpuOptions:{numThreads:n.threads}}:{}})}catch(o){throw Co(o),mo(e,o)}try{return new Or(e,s,r,n)}catch(o){throw s.delete(),o instanceof C?o:mo(e,o)}}function mo(e,t){return new C(`${e}: LiteRT.js refuses it (${V(t)}); export it again`)}async function Cu(e,{width:t,tensors:r}){let n={},s={};try{for(let[i,a]of Object.entries(r))n[i]=new ie(a,[1,t]);s=await e.run(n);let o={};for(let[i,a]of Object.entries(s))o[i]={shape:[...a.type.layout.dimensions],data:Float32Array.from(await a.data())};return o}catch(o){throw Co(o),new C(`LiteRT.js can't run the network (${V(o)}); export the artefact again`)}finally{for(let o of[...Object.values(n),...Object.values(s)])o.deleted||o.delete()}}function Bo(e){let t=r=>Object.fromEntries(r.map(({name:n,dtype:s,shape:o})=>[n,he(s,o)]));return[t(e.getInputDetails()),t(e.getOutputDetails())]}function Bu(e,t,r){let[n,s]=Bo(r),o=[...r.getOutputDetails()[0]?.shape??[]][1]??0,i=he("int32",[1,t.seqLen]);if(!(t.inputs.every(l=>n[l]===i)&&Object.keys(n).length===t.inputs.length&&JSON.stringify(s)===JSON.stringify({[Me]:he("float32",[1,o,t.labels.length])}))||!t.embedding||!o)throw new C(`${e}: its signature ${Fr} does not fit io.json; export it again`);return{seqLen:t.seqLen,texts:o}}var Au,et,Or,Lo=H(()=>{"use strict";Eo();ve();x();Te();Au="Failed to create default WebGPU device:",et=null;Or=class{constructor(t,r,n,{accelerator:s,threads:o}){this.model=r;this.runtime=`LiteRT.js ${s}`,this.threads=s==="wasm"?o:1;for(let i of n.buckets){let a=i.signature===null?r:r.signatures[i.signature];if(!a)throw new C(`${t}: has no signature ${i.signature}, as io.json says; export it again`);let[l,c]=Bo(a);vt(t,n,i.seqLen,l,c),this.runners.set(i.seqLen,a)}this.packedRunner=r.signatures[Fr],this.packed=this.packedRunner?Bu(t,n,this.packedRunner):null}model;mostRows=1;packed;runtime;threads;runners=new Map;packedRunner;last=Promise.resolve();run(t){return this.call(this.runners.get(t.width),t)}runPacked(t){return this.call(this.packedRunner,t)}dispose(){this.model.delete()}call(t,r){let n=this.last.then(()=>Cu(t,r));return this.last=n.catch(()=>{}),n}}});var Do={};or(Do,{openOnnx:()=>wu});async function wu(e,t,r,n){let{ort:s,provider:o,threads:i}=n,a;try{a=await s.InferenceSession.create(t,{executionProviders:[o],intraOpNumThreads:i,interOpNumThreads:1,logSeverityLevel:3})}catch(l){throw new C(`${e}: ${n.name} refuses it (${V(l)}); export it again`)}for(let{seqLen:l}of r.buckets)vt(e,r,l,wo(a.inputMetadata,l),wo(a.outputMetadata,l));return new $r(a,n)}function wo(e,t){let r={[Lu]:t,[yo]:1};return Object.fromEntries(e.map(n=>{if(!n.isTensor)return[n.name,"no tensor"];let s=n.shape.map(o=>typeof o=="string"?r[o]??Number.NaN:o);return[n.name,he(n.type,s)]}))}var gu,Lu,yo,$r,Mo=H(()=>{"use strict";x();Te();gu=8,Lu="tokens",yo="batch";$r=class{constructor(t,r){this.session=t;this.options=r;this.runtime=`${r.name} ${r.provider}`,this.threads=r.threads;let n=t.inputMetadata.every(s=>s.isTensor&&s.shape[0]===yo);this.mostRows=n?gu:1}session;options;packed=null;mostRows;runtime;threads;last=Promise.resolve();run(t){let r=this.last.then(()=>this.runOnce(t));return this.last=r.catch(()=>{}),r}runPacked(){throw new Error("an .onnx file has no packed graph")}dispose(){this.session.release()}async runOnce({rows:t,width:r,tensors:n}){let{Tensor:s}=this.options.ort,o=Object.fromEntries(Object.entries(n).map(([i,a])=>[i,new s("int32",a,[t,r])]));try{let i=await this.session.run(o);return Object.fromEntries(Object.entries(i).map(([a,l])=>[a,{shape:l.dims,data:l.data}]))}catch(i){throw new C(`${this.options.name} can't run the network (${V(i)}); export the artefact again`)}}}});var Pi={};or(Pi,{InferenceSession:()=>sn,TRACE:()=>Zt,TRACE_EVENT_BEGIN:()=>We,TRACE_EVENT_END:()=>Ge,TRACE_FUNC_BEGIN:()=>ze,TRACE_FUNC_END:()=>je,Tensor:()=>Q,default:()=>Ju,env:()=>_,registerBackend:()=>gt});var Yt,tn,yu,Du,Mu,bu,w,rn,_u,Go,ht,Be,gt,bo,qo,Ho,vu,Vo,ku,Nr,S,Jo,_,Tu,Ko,Yo,xu,qt,Xo,Zo,Qo,ei,ti,Pu,Ue,Bt,Ir,ri,Ru,ni,si,Su,W,nn,Q,oi,Zt,Ur,ze,je,We,Ge,ii,ai,Ou,sn,$u,Nu,Iu,Uu,zu,ci,qe,on,ui,zr,jr,Fi,ju,Wr,_o,vo,j,an,Ht,ko,To,Gr,xo,qr,di,Hr,fi,ln,Vr,Vt,Et,Jr,Po,Ro,So,cn,b,st,Z,Qt,y,un,pi,Wu,Oo,$o,No,Oe,Io,Ai,Gu,rt,Xt,nt,hi,Ei,Fn,dn,mi,Ci,fn,Bi,Uo,pn,An,$e,zo,Kr,er,hn,En,Yr,mn,Cn,Bn,gi,ge,q,tt,mt,Ct,Jt,Xr,Kt,Ne,Ie,jo,Li,wi,yi,Di,Mi,bi,_i,vi,Zr,Wo,ki,qu,Ti,Qr,en,xi,Hu,Vu,Ju,Ri=H(()=>{Yt={};tn=Object.defineProperty,yu=Object.getOwnPropertyDescriptor,Du=Object.getOwnPropertyNames,Mu=Object.prototype.hasOwnProperty,bu=(e=>typeof we<"u"?we:typeof Proxy<"u"?new Proxy(e,{get:(t,r)=>(typeof we<"u"?we:t)[r]}):e)(function(e){if(typeof we<"u")return we.apply(this,arguments);throw Error('Dynamic require of "'+e+'" is not supported')}),w=(e,t,r)=>()=>{if(r)throw r[0];try{return e&&(t=e(e=0)),t}catch(n){throw r=[n],n}},rn=(e,t)=>{for(var r in t)tn(e,r,{get:t[r],enumerable:!0})},_u=(e,t,r,n)=>{if(t&&typeof t=="object"||typeof t=="function")for(let s of Du(t))!Mu.call(e,s)&&s!==r&&tn(e,s,{get:()=>t[s],enumerable:!(n=yu(t,s))||n.enumerable});return e},Go=e=>_u(tn({},"__esModule",{value:!0}),e),Ho=w(()=>{"use strict";ht=new Map,Be=[],gt=(e,t,r)=>{if(t&&typeof t.init=="function"&&typeof t.createInferenceSessionHandler=="function"){let n=ht.get(e);if(n===void 0)ht.set(e,{backend:t,priority:r});else{if(n.priority>r)return;if(n.priority===r&&n.backend!==t)throw new Error(`cannot register backend "${e}" using priority ${r}`)}if(r>=0){let s=Be.indexOf(e);s!==-1&&Be.splice(s,1);for(let o=0;o<Be.length;o++)if(ht.get(Be[o]).priority<=r){Be.splice(o,0,e);return}Be.push(e)}return}throw new TypeError("not a valid backend")},bo=async e=>{let t=ht.get(e);if(!t)return"backend not found.";if(t.initialized)return t.backend;if(t.aborted)return t.error;{let r=!!t.initPromise;try{return r||(t.initPromise=t.backend.init(e)),await t.initPromise,t.initialized=!0,t.backend}catch(n){return r||(t.error=`${n}`,t.aborted=!0),t.error}finally{delete t.initPromise}}},qo=async e=>{let t=e.executionProviders||[],r=t.map(l=>typeof l=="string"?l:l.name),n=r.length===0?Be:r,s,o=[],i=new Set;for(let l of n){let c=await bo(l);typeof c=="string"?o.push({name:l,err:c}):(s||(s=c),s===c&&i.add(l))}if(!s)throw new Error(`no available backend found. ERR: ${o.map(l=>`[${l.name}] ${l.err}`).join(", ")}`);for(let{name:l,err:c}of o)r.includes(l)&&console.warn(`removing requested execution provider "${l}" from session options because it is not available: ${c}`);let a=t.filter(l=>i.has(typeof l=="string"?l:l.name));return[s,new Proxy(e,{get:(l,c)=>c==="executionProviders"?a:Reflect.get(l,c)})]}}),vu=w(()=>{"use strict";Ho()}),ku=w(()=>{"use strict";Vo="1.30.0"}),Jo=w(()=>{"use strict";ku(),Nr="warning",S={wasm:{},webgl:{},webgpu:{},versions:{common:Vo},set logLevel(e){if(e!==void 0){if(typeof e!="string"||["verbose","info","warning","error","fatal"].indexOf(e)===-1)throw new Error(`Unsupported logging level: ${e}`);Nr=e}},get logLevel(){return Nr}},Object.defineProperty(S,"logLevel",{enumerable:!0})}),Tu=w(()=>{"use strict";Jo(),_=S}),xu=w(()=>{"use strict";Ko=(e,t)=>{let r=typeof document<"u"?document.createElement("canvas"):new OffscreenCanvas(1,1);r.width=e.dims[3],r.height=e.dims[2];let n=r.getContext("2d");if(n!=null){let s,o;t?.tensorLayout!==void 0&&t.tensorLayout==="NHWC"?(s=e.dims[2],o=e.dims[3]):(s=e.dims[3],o=e.dims[2]);let i=t?.format!==void 0?t.format:"RGB",a=t?.norm,l,c;a===void 0||a.mean===void 0?l=[255,255,255,255]:typeof a.mean=="number"?l=[a.mean,a.mean,a.mean,a.mean]:(l=[a.mean[0],a.mean[1],a.mean[2],0],a.mean[3]!==void 0&&(l[3]=a.mean[3])),a===void 0||a.bias===void 0?c=[0,0,0,0]:typeof a.bias=="number"?c=[a.bias,a.bias,a.bias,a.bias]:(c=[a.bias[0],a.bias[1],a.bias[2],0],a.bias[3]!==void 0&&(c[3]=a.bias[3]));let F=o*s,u=0,d=F,f=F*2,p=-1;i==="RGBA"?(u=0,d=F,f=F*2,p=F*3):i==="RGB"?(u=0,d=F,f=F*2):i==="RBG"&&(u=0,f=F,d=F*2);for(let A=0;A<o;A++)for(let m=0;m<s;m++){let E=(e.data[u++]-c[0])*l[0],h=(e.data[d++]-c[1])*l[1],B=(e.data[f++]-c[2])*l[2],g=p===-1?255:(e.data[p++]-c[3])*l[3];n.fillStyle="rgba("+E+","+h+","+B+","+g+")",n.fillRect(m,A,1,1)}if("toDataURL"in r)return r.toDataURL();throw new Error("toDataURL is not supported")}else throw new Error("Can not access image data")},Yo=(e,t)=>{let r=typeof document<"u"?document.createElement("canvas").getContext("2d"):new OffscreenCanvas(1,1).getContext("2d"),n;if(r!=null){let s,o,i;t?.tensorLayout!==void 0&&t.tensorLayout==="NHWC"?(s=e.dims[2],o=e.dims[1],i=e.dims[3]):(s=e.dims[3],o=e.dims[2],i=e.dims[1]);let a=t!==void 0&&t.format!==void 0?t.format:"RGB",l=t?.norm,c,F;l===void 0||l.mean===void 0?c=[255,255,255,255]:typeof l.mean=="number"?c=[l.mean,l.mean,l.mean,l.mean]:(c=[l.mean[0],l.mean[1],l.mean[2],255],l.mean[3]!==void 0&&(c[3]=l.mean[3])),l===void 0||l.bias===void 0?F=[0,0,0,0]:typeof l.bias=="number"?F=[l.bias,l.bias,l.bias,l.bias]:(F=[l.bias[0],l.bias[1],l.bias[2],0],l.bias[3]!==void 0&&(F[3]=l.bias[3]));let u=o*s;if(t!==void 0&&(t.format!==void 0&&i===4&&t.format!=="RGBA"||i===3&&t.format!=="RGB"&&t.format!=="BGR"))throw new Error("Tensor format doesn't match input tensor dims");let d=4,f=0,p=1,A=2,m=3,E=0,h=u,B=u*2,g=-1;a==="RGBA"?(E=0,h=u,B=u*2,g=u*3):a==="RGB"?(E=0,h=u,B=u*2):a==="RBG"&&(E=0,B=u,h=u*2),n=r.createImageData(s,o);for(let T=0;T<o*s;f+=d,p+=d,A+=d,m+=d,T++)n.data[f]=(e.data[E++]-F[0])*c[0],n.data[p]=(e.data[h++]-F[1])*c[1],n.data[A]=(e.data[B++]-F[2])*c[2],n.data[m]=g===-1?255:(e.data[g++]-F[3])*c[3]}else throw new Error("Can not access image data");return n}}),Pu=w(()=>{"use strict";nn(),qt=(e,t)=>{if(e===void 0)throw new Error("Image buffer must be defined");if(t.height===void 0||t.width===void 0)throw new Error("Image height and width must be defined");if(t.tensorLayout==="NHWC")throw new Error("NHWC Tensor layout is not supported yet");let{height:r,width:n}=t,s=t.norm??{mean:255,bias:0},o,i;typeof s.mean=="number"?o=[s.mean,s.mean,s.mean,s.mean]:o=[s.mean[0],s.mean[1],s.mean[2],s.mean[3]??255],typeof s.bias=="number"?i=[s.bias,s.bias,s.bias,s.bias]:i=[s.bias[0],s.bias[1],s.bias[2],s.bias[3]??0];let a=t.format!==void 0?t.format:"RGBA",l=t.tensorFormat!==void 0&&t.tensorFormat!==void 0?t.tensorFormat:"RGB",c=r*n,F=l==="RGBA"?new Float32Array(c*4):new Float32Array(c*3),u=4,d=0,f=1,p=2,A=3,m=0,E=c,h=c*2,B=-1;a==="RGB"&&(u=3,d=0,f=1,p=2,A=-1),l==="RGBA"?B=c*3:l==="RBG"?(m=0,h=c,E=c*2):l==="BGR"&&(h=0,E=c,m=c*2);for(let g=0;g<c;g++,d+=u,p+=u,f+=u,A+=u)F[m++]=(e[d]+i[0])/o[0],F[E++]=(e[f]+i[1])/o[1],F[h++]=(e[p]+i[2])/o[2],B!==-1&&A!==-1&&(F[B++]=(e[A]+i[3])/o[3]);return l==="RGBA"?new W("float32",F,[1,4,r,n]):new W("float32",F,[1,3,r,n])},Xo=async(e,t)=>{let r=typeof HTMLImageElement<"u"&&e instanceof HTMLImageElement,n=typeof ImageData<"u"&&e instanceof ImageData,s=typeof ImageBitmap<"u"&&e instanceof ImageBitmap,o=typeof e=="string",i,a=t??{},l=()=>{if(typeof document<"u")return document.createElement("canvas");if(typeof OffscreenCanvas<"u")return new OffscreenCanvas(1,1);throw new Error("Canvas is not supported")},c=F=>typeof HTMLCanvasElement<"u"&&F instanceof HTMLCanvasElement||F instanceof OffscreenCanvas?F.getContext("2d"):null;if(r){let F=l();F.width=e.width,F.height=e.height;let u=c(F);if(u!=null){let d=e.height,f=e.width;if(t!==void 0&&t.resizedHeight!==void 0&&t.resizedWidth!==void 0&&(d=t.resizedHeight,f=t.resizedWidth),t!==void 0){if(a=t,t.tensorFormat!==void 0)throw new Error("Image input config format must be RGBA for HTMLImageElement");a.tensorFormat="RGBA",a.height=d,a.width=f}else a.tensorFormat="RGBA",a.height=d,a.width=f;u.drawImage(e,0,0),i=u.getImageData(0,0,f,d).data}else throw new Error("Can not access image data")}else if(n){let F,u;if(t!==void 0&&t.resizedWidth!==void 0&&t.resizedHeight!==void 0?(F=t.resizedHeight,u=t.resizedWidth):(F=e.height,u=e.width),t!==void 0&&(a=t),a.format="RGBA",a.height=F,a.width=u,t!==void 0){let d=l();d.width=u,d.height=F;let f=c(d);if(f!=null)f.putImageData(e,0,0),i=f.getImageData(0,0,u,F).data;else throw new Error("Can not access image data")}else i=e.data}else if(s){if(t===void 0)throw new Error("Please provide image config with format for Imagebitmap");let F=l();F.width=e.width,F.height=e.height;let u=c(F);if(u!=null){let d=e.height,f=e.width;return u.drawImage(e,0,0,f,d),i=u.getImageData(0,0,f,d).data,a.height=d,a.width=f,qt(i,a)}else throw new Error("Can not access image data")}else{if(o)return new Promise((F,u)=>{let d=l(),f=c(d);if(!e||!f)return u();let p=new Image;p.crossOrigin="Anonymous",p.src=e,p.onload=()=>{d.width=p.width,d.height=p.height,f.drawImage(p,0,0,d.width,d.height);let A=f.getImageData(0,0,d.width,d.height);a.height=d.height,a.width=d.width,F(qt(A.data,a))}});throw new Error("Input data provided is not supported - aborted tensor creation")}if(i!==void 0)return qt(i,a);throw new Error("Input data provided is not supported - aborted tensor creation")},Zo=(e,t)=>{let{width:r,height:n,download:s,dispose:o}=t,i=[1,n,r,4];return new W({location:"texture",type:"float32",texture:e,dims:i,download:s,dispose:o})},Qo=(e,t)=>{let{dataType:r,dims:n,download:s,dispose:o}=t;return new W({location:"gpu-buffer",type:r??"float32",gpuBuffer:e,dims:n,download:s,dispose:o})},ei=(e,t)=>{let{dataType:r,dims:n,download:s,dispose:o}=t;return new W({location:"ml-tensor",type:r??"float32",mlTensor:e,dims:n,download:s,dispose:o})},ti=(e,t,r)=>new W({location:"cpu-pinned",type:e,data:t,dims:r??[t.length]})}),Ru=w(()=>{"use strict";Ue=new Map([["float32",Float32Array],["uint8",Uint8Array],["int8",Int8Array],["uint16",Uint16Array],["int16",Int16Array],["int32",Int32Array],["bool",Uint8Array],["float64",Float64Array],["uint32",Uint32Array],["int4",Uint8Array],["uint4",Uint8Array]]),Bt=new Map([[Float32Array,"float32"],[Uint8Array,"uint8"],[Int8Array,"int8"],[Uint16Array,"uint16"],[Int16Array,"int16"],[Int32Array,"int32"],[Float64Array,"float64"],[Uint32Array,"uint32"]]),Ir=!1,ri=()=>{if(!Ir){Ir=!0;let e=typeof BigInt64Array<"u"&&BigInt64Array.from,t=typeof BigUint64Array<"u"&&BigUint64Array.from,r=globalThis.Float16Array,n=typeof r<"u"&&r.from;e&&(Ue.set("int64",BigInt64Array),Bt.set(BigInt64Array,"int64")),t&&(Ue.set("uint64",BigUint64Array),Bt.set(BigUint64Array,"uint64")),n?(Ue.set("float16",r),Bt.set(r,"float16")):Ue.set("float16",Uint16Array)}}}),Su=w(()=>{"use strict";nn(),ni=e=>{let t=1;for(let r=0;r<e.length;r++){let n=e[r];if(typeof n!="number"||!Number.isSafeInteger(n))throw new TypeError(`dims[${r}] must be an integer, got: ${n}`);if(n<0)throw new RangeError(`dims[${r}] must be a non-negative integer, got: ${n}`);t*=n}return t},si=(e,t)=>{switch(e.location){case"cpu":return new W(e.type,e.data,t);case"cpu-pinned":return new W({location:"cpu-pinned",data:e.data,type:e.type,dims:t});case"texture":return new W({location:"texture",texture:e.texture,type:e.type,dims:t});case"gpu-buffer":return new W({location:"gpu-buffer",gpuBuffer:e.gpuBuffer,type:e.type,dims:t});case"ml-tensor":return new W({location:"ml-tensor",mlTensor:e.mlTensor,type:e.type,dims:t});default:throw new Error(`tensorReshape: tensor location ${e.location} is not supported`)}}}),nn=w(()=>{"use strict";xu(),Pu(),Ru(),Su(),W=class{constructor(e,t,r){ri();let n,s;if(typeof e=="object"&&"location"in e)switch(this.dataLocation=e.location,n=e.type,s=e.dims,e.location){case"cpu-pinned":{let i=Ue.get(n);if(!i)throw new TypeError(`unsupported type "${n}" to create tensor from pinned buffer`);if(!(e.data instanceof i))throw new TypeError(`buffer should be of type ${i.name}`);this.cpuData=e.data;break}case"texture":{if(n!=="float32")throw new TypeError(`unsupported type "${n}" to create tensor from texture`);this.gpuTextureData=e.texture,this.downloader=e.download,this.disposer=e.dispose;break}case"gpu-buffer":{if(n!=="float32"&&n!=="float16"&&n!=="int32"&&n!=="int64"&&n!=="uint32"&&n!=="uint8"&&n!=="bool"&&n!=="uint4"&&n!=="int4")throw new TypeError(`unsupported type "${n}" to create tensor from gpu buffer`);this.gpuBufferData=e.gpuBuffer,this.downloader=e.download,this.disposer=e.dispose;break}case"ml-tensor":{if(n!=="float32"&&n!=="float16"&&n!=="int32"&&n!=="int64"&&n!=="uint32"&&n!=="uint64"&&n!=="int8"&&n!=="uint8"&&n!=="bool"&&n!=="uint4"&&n!=="int4")throw new TypeError(`unsupported type "${n}" to create tensor from MLTensor`);this.mlTensorData=e.mlTensor,this.downloader=e.download,this.disposer=e.dispose;break}default:throw new Error(`Tensor constructor: unsupported location '${this.dataLocation}'`)}else{let i,a;if(typeof e=="string")if(n=e,a=r,e==="string"){if(!Array.isArray(t))throw new TypeError("A string tensor's data must be a string array.");i=t}else{let l=Ue.get(e);if(l===void 0)throw new TypeError(`Unsupported tensor type: ${e}.`);if(Array.isArray(t)){if(e==="float16"&&l===Uint16Array||e==="uint4"||e==="int4")throw new TypeError(`Creating a ${e} tensor from number array is not supported. Please use ${l.name} as data.`);e==="uint64"||e==="int64"?i=l.from(t,BigInt):i=l.from(t)}else if(t instanceof l)i=t;else if(t instanceof Uint8ClampedArray)if(e==="uint8")i=Uint8Array.from(t);else throw new TypeError("A Uint8ClampedArray tensor's data must be type of uint8");else if(e==="float16"&&t instanceof Uint16Array&&l!==Uint16Array)i=new globalThis.Float16Array(t.buffer,t.byteOffset,t.length);else throw new TypeError(`A ${n} tensor's data must be type of ${l}`)}else if(a=t,Array.isArray(e)){if(e.length===0)throw new TypeError("Tensor type cannot be inferred from an empty array.");let l=typeof e[0];if(l==="string")n="string",i=e;else if(l==="boolean")n="bool",i=Uint8Array.from(e);else throw new TypeError(`Invalid element type of data array: ${l}.`)}else if(e instanceof Uint8ClampedArray)n="uint8",i=Uint8Array.from(e);else{let l=Bt.get(e.constructor);if(l===void 0)throw new TypeError(`Unsupported type for tensor data: ${e.constructor}.`);n=l,i=e}if(a===void 0)a=[i.length];else if(!Array.isArray(a))throw new TypeError("A tensor's dims must be a number array");s=a,this.cpuData=i,this.dataLocation="cpu"}let o=ni(s);if(this.cpuData&&o!==this.cpuData.length&&!((n==="uint4"||n==="int4")&&Math.ceil(o/2)===this.cpuData.length))throw new Error(`Tensor's size(${o}) does not match data length(${this.cpuData.length}).`);this.type=n,this.dims=s,this.size=o}static async fromImage(e,t){return Xo(e,t)}static fromTexture(e,t){return Zo(e,t)}static fromGpuBuffer(e,t){return Qo(e,t)}static fromMLTensor(e,t){return ei(e,t)}static fromPinnedBuffer(e,t,r){return ti(e,t,r)}toDataURL(e){return Ko(this,e)}toImageData(e){return Yo(this,e)}get data(){if(this.ensureValid(),!this.cpuData)throw new Error("The data is not on CPU. Use `getData()` to download GPU data to CPU, or use `texture` or `gpuBuffer` property to access the GPU data directly.");return this.cpuData}get location(){return this.dataLocation}get texture(){if(this.ensureValid(),!this.gpuTextureData)throw new Error("The data is not stored as a WebGL texture.");return this.gpuTextureData}get gpuBuffer(){if(this.ensureValid(),!this.gpuBufferData)throw new Error("The data is not stored as a WebGPU buffer.");return this.gpuBufferData}get mlTensor(){if(this.ensureValid(),!this.mlTensorData)throw new Error("The data is not stored as a WebNN MLTensor.");return this.mlTensorData}async getData(e){switch(this.ensureValid(),this.dataLocation){case"cpu":case"cpu-pinned":return this.data;case"texture":case"gpu-buffer":case"ml-tensor":{if(!this.downloader)throw new Error("The current tensor is not created with a specified data downloader.");if(this.isDownloading)throw new Error("The current tensor is being downloaded.");try{this.isDownloading=!0;let t=await this.downloader();return this.downloader=void 0,this.dataLocation="cpu",this.cpuData=t,e&&this.disposer&&(this.disposer(),this.disposer=void 0),t}finally{this.isDownloading=!1}}default:throw new Error(`cannot get data from location: ${this.dataLocation}`)}}dispose(){if(this.isDownloading)throw new Error("The current tensor is being downloaded.");this.disposer&&(this.disposer(),this.disposer=void 0),this.cpuData=void 0,this.gpuTextureData=void 0,this.gpuBufferData=void 0,this.mlTensorData=void 0,this.downloader=void 0,this.isDownloading=void 0,this.dataLocation="none"}ensureValid(){if(this.dataLocation==="none")throw new Error("The tensor is disposed.")}reshape(e){if(this.ensureValid(),this.downloader||this.disposer)throw new Error("Cannot reshape a tensor that owns GPU resource.");return si(this,e)}}}),oi=w(()=>{"use strict";nn(),Q=W}),ii=w(()=>{"use strict";Jo(),Zt=(e,t)=>{(typeof S.trace>"u"?!S.wasm.trace:!S.trace)||console.timeStamp(`${e}::ORT::${t}`)},Ur=(e,t)=>{let r=new Error().stack?.split(/\r\n|\r|\n/g)||[],n=!1;for(let s=0;s<r.length;s++){if(n&&!r[s].includes("TRACE_FUNC")){let o=`FUNC_${e}::${r[s].trim().split(" ")[1]}`;t&&(o+=`::${t}`),Zt("CPU",o);return}r[s].includes("TRACE_FUNC")&&(n=!0)}},ze=e=>{(typeof S.trace>"u"?!S.wasm.trace:!S.trace)||Ur("BEGIN",e)},je=e=>{(typeof S.trace>"u"?!S.wasm.trace:!S.trace)||Ur("END",e)},We=e=>{(typeof S.trace>"u"?!S.wasm.trace:!S.trace)||console.time(`ORT::${e}`)},Ge=e=>{(typeof S.trace>"u"?!S.wasm.trace:!S.trace)||console.timeEnd(`ORT::${e}`)}}),Ou=w(()=>{"use strict";Ho(),oi(),ii(),ai=class li{constructor(t){this.handler=t}async run(t,r,n){ze(),We("InferenceSession.run");let s={},o={};if(typeof t!="object"||t===null||t instanceof Q||Array.isArray(t))throw new TypeError("'feeds' must be an object that use input names as keys and OnnxValue as corresponding values.");let i=!0;if(typeof r=="object"){if(r===null)throw new TypeError("Unexpected argument[1]: cannot be null.");if(r instanceof Q)throw new TypeError("'fetches' cannot be a Tensor");if(Array.isArray(r)){if(r.length===0)throw new TypeError("'fetches' cannot be an empty array.");i=!1;for(let c of r){if(typeof c!="string")throw new TypeError("'fetches' must be a string array or an object.");if(this.outputNames.indexOf(c)===-1)throw new RangeError(`'fetches' contains invalid output name: ${c}.`);s[c]=null}if(typeof n=="object"&&n!==null)o=n;else if(typeof n<"u")throw new TypeError("'options' must be an object.")}else{let c=!1,F=Object.getOwnPropertyNames(r);for(let u of this.outputNames)if(F.indexOf(u)!==-1){let d=r[u];(d===null||d instanceof Q)&&(c=!0,i=!1,s[u]=d)}if(c){if(typeof n=="object"&&n!==null)o=n;else if(typeof n<"u")throw new TypeError("'options' must be an object.")}else o=r}}else if(typeof r<"u")throw new TypeError("Unexpected argument[1]: must be 'fetches' or 'options'.");for(let c of this.inputNames)if(typeof t[c]>"u")throw new Error(`input '${c}' is missing in 'feeds'.`);if(i)for(let c of this.outputNames)s[c]=null;let a=await this.handler.run(t,s,o),l={};for(let c in a)if(Object.hasOwnProperty.call(a,c)){let F=a[c];F instanceof Q?l[c]=F:l[c]=new Q(F.type,F.data,F.dims)}return Ge("InferenceSession.run"),je(),l}async release(){return this.handler.dispose()}static async create(t,r,n,s){ze(),We("InferenceSession.create");let o,i={};if(typeof t=="string"){if(o=t,typeof r=="object"&&r!==null)i=r;else if(typeof r<"u")throw new TypeError("'options' must be an object.")}else if(t instanceof Uint8Array){if(o=t,typeof r=="object"&&r!==null)i=r;else if(typeof r<"u")throw new TypeError("'options' must be an object.")}else if(t instanceof ArrayBuffer||typeof SharedArrayBuffer<"u"&&t instanceof SharedArrayBuffer){let F=t,u=0,d=t.byteLength;if(typeof r=="object"&&r!==null)i=r;else if(typeof r=="number"){if(u=r,!Number.isSafeInteger(u))throw new RangeError("'byteOffset' must be an integer.");if(u<0||u>=F.byteLength)throw new RangeError(`'byteOffset' is out of range [0, ${F.byteLength}).`);if(d=t.byteLength-u,typeof n=="number"){if(d=n,!Number.isSafeInteger(d))throw new RangeError("'byteLength' must be an integer.");if(d<=0||u+d>F.byteLength)throw new RangeError(`'byteLength' is out of range (0, ${F.byteLength-u}].`);if(typeof s=="object"&&s!==null)i=s;else if(typeof s<"u")throw new TypeError("'options' must be an object.")}else if(typeof n<"u")throw new TypeError("'byteLength' must be a number.")}else if(typeof r<"u")throw new TypeError("'options' must be an object.");o=new Uint8Array(F,u,d)}else throw new TypeError("Unexpected argument[0]: must be 'path' or 'buffer'.");let[a,l]=await qo(i),c=await a.createInferenceSessionHandler(o,l);return Ge("InferenceSession.create"),je(),new li(c)}startProfiling(){this.handler.startProfiling()}endProfiling(){this.handler.endProfiling()}get inputNames(){return this.handler.inputNames}get outputNames(){return this.handler.outputNames}get inputMetadata(){return this.handler.inputMetadata}get outputMetadata(){return this.handler.outputMetadata}}}),$u=w(()=>{"use strict";Ou(),sn=ai}),Nu=w(()=>{"use strict"}),Iu=w(()=>{"use strict"}),Uu=w(()=>{"use strict"}),zu=w(()=>{"use strict"}),ci={};rn(ci,{InferenceSession:()=>sn,TRACE:()=>Zt,TRACE_EVENT_BEGIN:()=>We,TRACE_EVENT_END:()=>Ge,TRACE_FUNC_BEGIN:()=>ze,TRACE_FUNC_END:()=>je,Tensor:()=>Q,env:()=>_,registerBackend:()=>gt});qe=w(()=>{"use strict";vu(),Tu(),$u(),oi(),Nu(),Iu(),ii(),Uu(),zu()}),on=w(()=>{"use strict"}),ui={};rn(ui,{default:()=>Fi});ju=w(()=>{"use strict";gi(),st(),ln(),zr="ort-wasm-proxy-worker",jr=globalThis.self?.name===zr,jr&&(self.onmessage=e=>{let{type:t,in:r}=e.data;try{switch(t){case"init-wasm":cn(r.wasm).then(()=>{pn(r).then(()=>{postMessage({type:t})},n=>{postMessage({type:t,err:n})})},n=>{postMessage({type:t,err:n})});break;case"init-ep":{let{epName:n,env:s}=r;An(s,n).then(()=>{postMessage({type:t})},o=>{postMessage({type:t,err:o})});break}case"copy-from":{let{buffer:n}=r,s=er(n);postMessage({type:t,out:s});break}case"create":{let{model:n,options:s}=r;hn(n,s).then(o=>{postMessage({type:t,out:o})},o=>{postMessage({type:t,err:o})});break}case"release":En(r),postMessage({type:t});break;case"run":{let{sessionId:n,inputIndices:s,inputs:o,outputIndices:i,options:a}=r;mn(n,s,o,i,new Array(i.length).fill(null),a).then(l=>{l.some(c=>c[3]!=="cpu")?postMessage({type:t,err:"Proxy does not support non-cpu tensor location."}):postMessage({type:t,out:l},Bn([...o,...l]))},l=>{postMessage({type:t,err:l})});break}case"end-profiling":Cn(r),postMessage({type:t});break;default:}}catch(n){postMessage({type:t,err:n})}}),Fi=jr?null:e=>new Worker(e??j,{type:"module",name:zr})}),ln=w(()=>{"use strict";on(),Wr=typeof location>"u"?void 0:location.origin,_o=Yt.url>"file:"&&Yt.url<"file;",vo=()=>{if(_o){let e=URL;return new URL(new e("ort.wasm.min.mjs",Yt.url).href,Wr).href}return Yt.url},j=vo(),an=()=>{if(j&&!j.startsWith("blob:"))return j.substring(0,j.lastIndexOf("/")+1)},Ht=(e,t)=>{try{let r=t??j;return(r?new URL(e,r):new URL(e)).origin===Wr}catch{return!1}},ko=(e,t)=>{let r=t??j;try{return(r?new URL(e,r):new URL(e)).href}catch{return}},To=(e,t)=>`${t??"./"}${e}`,Gr=async e=>{let t=await(await fetch(e,{credentials:"same-origin"})).blob();return URL.createObjectURL(t)},xo=async e=>(await import(e)).default,qr=(ju(),Go(ui)).default,di=async()=>{if(!j)throw new Error("Failed to load proxy worker: cannot determine the script source URL.");if(Ht(j))return[void 0,qr()];let e=await Gr(j);return[e,qr(e)]},Hr=void 0,fi=async(e,t,r,n)=>{let s=Hr&&!(e||t);if(s)if(j)s=Ht(j)||n&&!r;else if(n&&!r)s=!0;else throw new Error("cannot determine the script source URL.");if(s)return[void 0,Hr];{let o="ort-wasm-simd-threaded.mjs",i=e??ko(o,t),a=r&&i&&!Ht(i,t),l=a?await Gr(i):i??To(o,t);return[a?l:void 0,await xo(l)]}}}),st=w(()=>{"use strict";ln(),Vt=!1,Et=!1,Jr=!1,Po=()=>{if(typeof SharedArrayBuffer>"u")return!1;try{return typeof MessageChannel<"u"&&new MessageChannel().port1.postMessage(new SharedArrayBuffer(1)),WebAssembly.validate(new Uint8Array([0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,5,4,1,3,1,1,10,11,1,9,0,65,0,254,16,2,0,26,11]))}catch{return!1}},Ro=()=>{try{return WebAssembly.validate(new Uint8Array([0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,10,30,1,28,0,65,0,253,15,253,12,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,253,186,1,26,11]))}catch{return!1}},So=()=>{try{return WebAssembly.validate(new Uint8Array([0,97,115,109,1,0,0,0,1,5,1,96,0,1,123,3,2,1,0,10,19,1,17,0,65,1,253,15,65,2,253,15,65,3,253,15,253,147,2,11]))}catch{return!1}},cn=async e=>{if(Vt)return Promise.resolve();if(Et)throw new Error("multiple calls to 'initializeWebAssembly()' detected.");if(Jr)throw new Error("previous call to 'initializeWebAssembly()' failed.");Et=!0;let t=e.initTimeout,r=e.numThreads;if(e.simd!==!1){if(e.simd==="relaxed"){if(!So())throw new Error("Relaxed WebAssembly SIMD is not supported in the current environment.")}else if(!Ro())throw new Error("WebAssembly SIMD is not supported in the current environment.")}let n=Po();r>1&&!n&&(typeof self<"u"&&!self.crossOriginIsolated&&console.warn("env.wasm.numThreads is set to "+r+", but this will not work unless you enable crossOriginIsolated mode. See https://web.dev/cross-origin-isolation-guide/ for more info."),console.warn("WebAssembly multi-threading is not supported in the current environment. Falling back to single-threading."),e.numThreads=r=1);let s=e.wasmPaths,o=typeof s=="string"?s:void 0,i=s?.mjs,a=i?.href??i,l=s?.wasm,c=l?.href??l,F=e.wasmBinary,[u,d]=await fi(a,o,r>1,!!F||!!c),f=!1,p=[];if(t>0&&p.push(new Promise(A=>{setTimeout(()=>{f=!0,A()},t)})),p.push(new Promise((A,m)=>{let E={numThreads:r};if(F)E.wasmBinary=F,E.locateFile=h=>h;else if(c||o)E.locateFile=h=>c??o+h;else if(a&&a.indexOf("blob:")!==0)E.locateFile=h=>new URL(h,a).href;else if(u){let h=an();h&&(E.locateFile=B=>h+B)}d(E).then(h=>{Et=!1,Vt=!0,Vr=h,A(),u&&URL.revokeObjectURL(u)},h=>{Et=!1,Jr=!0,m(h)})})),await Promise.race(p),f)throw new Error(`WebAssembly backend initializing failed due to timeout: ${t}ms`)},b=()=>{if(Vt&&Vr)return Vr;throw new Error("WebAssembly is not initialized yet.")}}),un=w(()=>{"use strict";st(),Z=(e,t)=>{let r=b(),n=r.lengthBytesUTF8(e)+1,s=r._malloc(n);return r.stringToUTF8(e,s,n),t.push(s),s},Qt=(e,t,r,n)=>{if(typeof e=="object"&&e!==null){if(r.has(e))throw new Error("Circular reference in options");r.add(e)}Object.entries(e).forEach(([s,o])=>{let i=t?t+s:s;if(typeof o=="object")Qt(o,i+".",r,n);else if(typeof o=="string"||typeof o=="number")n(i,o.toString());else if(typeof o=="boolean")n(i,o?"1":"0");else throw new Error(`Can't handle extra config type: ${typeof o}`)})},y=e=>{let t=b(),r=t.stackSave();try{let n=t.PTR_SIZE,s=t.stackAlloc(2*n);t._OrtGetLastError(s,s+n);let o=Number(t.getValue(s,n===4?"i32":"i64")),i=t.getValue(s+n,"*"),a=i?t.UTF8ToString(i):"";throw new Error(`${e} ERROR_CODE: ${o}, ERROR_MESSAGE: ${a}`)}finally{t.stackRestore(r)}}}),Wu=w(()=>{"use strict";st(),un(),pi=e=>{let t=b(),r=0,n=[],s=e||{};try{if(e?.logSeverityLevel===void 0)s.logSeverityLevel=2;else if(typeof e.logSeverityLevel!="number"||!Number.isInteger(e.logSeverityLevel)||e.logSeverityLevel<0||e.logSeverityLevel>4)throw new Error(`log severity level is not valid: ${e.logSeverityLevel}`);if(e?.logVerbosityLevel===void 0)s.logVerbosityLevel=0;else if(typeof e.logVerbosityLevel!="number"||!Number.isInteger(e.logVerbosityLevel))throw new Error(`log verbosity level is not valid: ${e.logVerbosityLevel}`);e?.terminate===void 0&&(s.terminate=!1);let o=0;return e?.tag!==void 0&&(o=Z(e.tag,n)),r=t._OrtCreateRunOptions(s.logSeverityLevel,s.logVerbosityLevel,!!s.terminate,o),r===0&&y("Can't create run options."),e?.extra!==void 0&&Qt(e.extra,"",new WeakSet,(i,a)=>{let l=Z(i,n),c=Z(a,n);t._OrtAddRunConfigEntry(r,l,c)!==0&&y(`Can't set a run config entry: ${i} - ${a}.`)}),[r,n]}catch(o){throw r!==0&&t._OrtReleaseRunOptions(r),n.forEach(i=>t._free(i)),o}}}),Gu=w(()=>{"use strict";st(),un(),Oo=e=>{switch(e){case"disabled":return 0;case"basic":return 1;case"extended":return 2;case"layout":return 3;case"all":return 99;default:throw new Error(`unsupported graph optimization level: ${e}`)}},$o=e=>{switch(e){case"sequential":return 0;case"parallel":return 1;default:throw new Error(`unsupported execution mode: ${e}`)}},No=e=>{e.extra||(e.extra={}),e.extra.session||(e.extra.session={});let t=e.extra.session;t.use_ort_model_bytes_directly||(t.use_ort_model_bytes_directly="1"),e.executionProviders&&e.executionProviders.some(r=>(typeof r=="string"?r:r.name)==="webgpu")&&(e.enableMemPattern=!1)},Oe=(e,t,r,n)=>{let s=Z(t,n),o=Z(r,n);b()._OrtAddSessionConfigEntry(e,s,o)!==0&&y(`Can't set a session config entry: ${t} - ${r}.`)},Io=async(e,t,r)=>{let n=t.executionProviders;for(let s of n){let o=typeof s=="string"?s:s.name,i=[];switch(o){case"webnn":if(o="WEBNN",Oe(e,"session.disable_quant_qdq","1",r),Oe(e,"session.disable_qdq_constant_folding","1",r),typeof s!="string"){let u=s?.deviceType;u&&Oe(e,"deviceType",u,r)}break;case"webgpu":if(o="JS",typeof s!="string"){let u=s;if(u?.preferredLayout){if(u.preferredLayout!=="NCHW"&&u.preferredLayout!=="NHWC")throw new Error(`preferredLayout must be either 'NCHW' or 'NHWC': ${u.preferredLayout}`);Oe(e,"preferredLayout",u.preferredLayout,r)}}break;case"wasm":case"cpu":continue;default:throw new Error(`not supported execution provider: ${o}`)}let a=Z(o,r),l=i.length,c=0,F=0;if(l>0){c=b()._malloc(l*b().PTR_SIZE),r.push(c),F=b()._malloc(l*b().PTR_SIZE),r.push(F);for(let u=0;u<l;u++)b().setValue(c+u*b().PTR_SIZE,i[u][0],"*"),b().setValue(F+u*b().PTR_SIZE,i[u][1],"*")}await b()._OrtAppendExecutionProvider(e,a,c,F,l)!==0&&y(`Can't append execution provider: ${o}.`)}},Ai=async e=>{let t=b(),r=0,n=[],s=e||{};No(s);try{let o=Oo(s.graphOptimizationLevel??"all"),i=$o(s.executionMode??"sequential"),a=typeof s.logId=="string"?Z(s.logId,n):0,l=s.logSeverityLevel??2;if(!Number.isInteger(l)||l<0||l>4)throw new Error(`log severity level is not valid: ${l}`);let c=s.logVerbosityLevel??0;if(!Number.isInteger(c)||c<0||c>4)throw new Error(`log verbosity level is not valid: ${c}`);let F=typeof s.optimizedModelFilePath=="string"?Z(s.optimizedModelFilePath,n):0;if(r=t._OrtCreateSessionOptions(o,!!s.enableCpuMemArena,!!s.enableMemPattern,i,!!s.enableProfiling,0,a,l,c,F),r===0&&y("Can't create session options."),s.executionProviders&&await Io(r,s,n),s.enableGraphCapture!==void 0){if(typeof s.enableGraphCapture!="boolean")throw new Error(`enableGraphCapture must be a boolean value: ${s.enableGraphCapture}`);Oe(r,"enableGraphCapture",s.enableGraphCapture.toString(),n)}if(s.freeDimensionOverrides)for(let[u,d]of Object.entries(s.freeDimensionOverrides)){if(typeof u!="string")throw new Error(`free dimension override name must be a string: ${u}`);if(typeof d!="number"||!Number.isInteger(d)||d<0)throw new Error(`free dimension override value must be a non-negative integer: ${d}`);let f=Z(u,n);t._OrtAddFreeDimensionOverride(r,f,d)!==0&&y(`Can't set a free dimension override: ${u} - ${d}.`)}return s.extra!==void 0&&Qt(s.extra,"",new WeakSet,(u,d)=>{Oe(r,u,d,n)}),[r,n]}catch(o){throw r!==0&&t._OrtReleaseSessionOptions(r)!==0&&y("Can't release session options."),n.forEach(i=>t._free(i)),o}}}),Ci=w(()=>{"use strict";rt=e=>{switch(e){case"int8":return 3;case"uint8":return 2;case"bool":return 9;case"int16":return 5;case"uint16":return 4;case"int32":return 6;case"uint32":return 12;case"float16":return 10;case"float32":return 1;case"float64":return 11;case"string":return 8;case"int64":return 7;case"uint64":return 13;case"int4":return 22;case"uint4":return 21;default:throw new Error(`unsupported data type: ${e}`)}},Xt=e=>{switch(e){case 3:return"int8";case 2:return"uint8";case 9:return"bool";case 5:return"int16";case 4:return"uint16";case 6:return"int32";case 12:return"uint32";case 10:return"float16";case 1:return"float32";case 11:return"float64";case 8:return"string";case 7:return"int64";case 13:return"uint64";case 22:return"int4";case 21:return"uint4";default:throw new Error(`unsupported data type: ${e}`)}},nt=(e,t)=>{let r=[-1,4,1,1,2,2,4,8,-1,1,2,8,4,8,-1,-1,-1,-1,-1,-1,-1,.5,.5][e],n=typeof t=="number"?t:t.reduce((s,o)=>s*o,1);return r>0?Math.ceil(n*r):void 0},hi=e=>{switch(e){case"float16":return typeof Float16Array<"u"?Float16Array:Uint16Array;case"float32":return Float32Array;case"uint8":return Uint8Array;case"int8":return Int8Array;case"uint16":return Uint16Array;case"int16":return Int16Array;case"int32":return Int32Array;case"bool":return Uint8Array;case"float64":return Float64Array;case"uint32":return Uint32Array;case"int64":return BigInt64Array;case"uint64":return BigUint64Array;default:throw new Error(`unsupported type: ${e}`)}},Ei=e=>{switch(e){case"verbose":return 0;case"info":return 1;case"warning":return 2;case"error":return 3;case"fatal":return 4;default:throw new Error(`unsupported logging level: ${e}`)}},Fn=e=>e==="float32"||e==="float16"||e==="int32"||e==="int64"||e==="uint32"||e==="uint8"||e==="bool"||e==="uint4"||e==="int4",dn=e=>e==="float32"||e==="float16"||e==="int32"||e==="int64"||e==="uint32"||e==="uint64"||e==="int8"||e==="uint8"||e==="bool"||e==="uint4"||e==="int4",mi=e=>{switch(e){case"none":return 0;case"cpu":return 1;case"cpu-pinned":return 2;case"texture":return 3;case"gpu-buffer":return 4;case"ml-tensor":return 5;default:throw new Error(`unsupported data location: ${e}`)}}}),Bi=w(()=>{"use strict";on(),fn=async e=>{if(typeof e=="string"){let t=await fetch(e);if(!t.ok)throw new Error(`failed to load external data file: ${e}`);let r=t.headers.get("Content-Length"),n=r?parseInt(r,10):0;if(n<1073741824)return new Uint8Array(await t.arrayBuffer());{if(!t.body)throw new Error(`failed to load external data file: ${e}, no response body.`);let s=t.body.getReader(),o;try{o=new ArrayBuffer(n)}catch(a){if(a instanceof RangeError){let l=Math.ceil(n/65536);o=new WebAssembly.Memory({initial:l,maximum:l}).buffer}else throw a}let i=0;for(;;){let{done:a,value:l}=await s.read();if(a)break;let c=l.byteLength;new Uint8Array(o,i,c).set(l),i+=c}return new Uint8Array(o,0,n)}}else return e instanceof Blob?new Uint8Array(await e.arrayBuffer()):e instanceof Uint8Array?e:new Uint8Array(e)}}),gi=w(()=>{"use strict";qe(),Wu(),Gu(),Ci(),st(),un(),Bi(),Uo=(e,t)=>{b()._OrtInit(e,t)!==0&&y("Can't initialize onnxruntime.")},pn=async e=>{Uo(e.wasm.numThreads,Ei(e.logLevel))},An=async(e,t)=>{b().asyncInit?.();let r=e.webgpu.adapter;if(t==="webgpu"){if(typeof navigator>"u"||!navigator.gpu)throw new Error("WebGPU is not supported in current environment");if(r){if(typeof r.limits!="object"||typeof r.features!="object"||typeof r.requestDevice!="function")throw new Error("Invalid GPU adapter set in `env.webgpu.adapter`. It must be a GPUAdapter object.")}else{let n=e.webgpu.powerPreference;if(n!==void 0&&n!=="low-power"&&n!=="high-performance")throw new Error(`Invalid powerPreference setting: "${n}"`);let s=e.webgpu.forceFallbackAdapter;if(s!==void 0&&typeof s!="boolean")throw new Error(`Invalid forceFallbackAdapter setting: "${s}"`);if(r=await navigator.gpu.requestAdapter({powerPreference:n,forceFallbackAdapter:s}),!r)throw new Error('Failed to get GPU adapter. You may need to enable flag "--enable-unsafe-webgpu" if you are using Chrome.')}}if(t==="webnn"&&(typeof navigator>"u"||!navigator.ml))throw new Error("WebNN is not supported in current environment")},$e=new Map,zo=e=>{let t=b(),r=t.stackSave();try{let n=t.PTR_SIZE,s=t.stackAlloc(2*n);t._OrtGetInputOutputCount(e,s,s+n)!==0&&y("Can't get session input/output count.");let o=n===4?"i32":"i64";return[Number(t.getValue(s,o)),Number(t.getValue(s+n,o))]}finally{t.stackRestore(r)}},Kr=(e,t)=>{let r=b(),n=r.stackSave(),s=0;try{let o=r.PTR_SIZE,i=r.stackAlloc(2*o);r._OrtGetInputOutputMetadata(e,t,i,i+o)!==0&&y("Can't get session input/output metadata.");let a=Number(r.getValue(i,"*"));s=Number(r.getValue(i+o,"*"));let l=r.HEAP32[s/4];if(l===0)return[a,0];let c=r.HEAPU32[s/4+1],F=[];for(let u=0;u<c;u++){let d=Number(r.getValue(s+8+u*o,"*"));F.push(d!==0?r.UTF8ToString(d):Number(r.getValue(s+8+(u+c)*o,"*")))}return[a,l,F]}finally{r.stackRestore(n),s!==0&&r._OrtFree(s)}},er=e=>{let t=b(),r=t._malloc(e.byteLength);if(r===0)throw new Error(`Can't create a session. failed to allocate a buffer of size ${e.byteLength}.`);return t.HEAPU8.set(e,r),[r,e.byteLength]},hn=async(e,t)=>{let r,n,s=b();Array.isArray(e)?[r,n]=e:e.buffer===s.HEAPU8.buffer?[r,n]=[e.byteOffset,e.byteLength]:[r,n]=er(e);let o=0,i=0,a=0,l=[],c=[],F=[];try{if([i,l]=await Ai(t),t?.externalData&&s.mountExternalData){let B=[];for(let g of t.externalData){let T=typeof g=="string"?g:g.path,I=typeof g=="string"?g:g.data;B.push(fn(I).then($=>{s.mountExternalData(T,$)}))}await Promise.all(B)}for(let B of t?.executionProviders??[])if((typeof B=="string"?B:B.name)==="webnn"){if(s.shouldTransferToMLTensor=!1,typeof B!="string"){let g=B,T=g?.context,I=g?.gpuDevice,$=g?.deviceType,Le=g?.powerPreference;T?s.currentContext=T:I?s.currentContext=await s.webnnCreateMLContext(I):s.currentContext=await s.webnnCreateMLContext({deviceType:$,powerPreference:Le})}else s.currentContext=await s.webnnCreateMLContext();break}o=await s._OrtCreateSession(r,n,i),s.webgpuOnCreateSession?.(o),o===0&&y("Can't create a session."),s.jsepOnCreateSession?.(),s.currentContext&&(s.webnnRegisterMLContext(o,s.currentContext),s.currentContext=void 0,s.shouldTransferToMLTensor=!0);let[u,d]=zo(o),f=!!t?.enableGraphCapture,p=[],A=[],m=[],E=[],h=[];for(let B=0;B<u;B++){let[g,T,I]=Kr(o,B);g===0&&y("Can't get an input name."),c.push(g);let $=s.UTF8ToString(g);p.push($),m.push(T===0?{name:$,isTensor:!1}:{name:$,isTensor:!0,type:Xt(T),shape:I})}for(let B=0;B<d;B++){let[g,T,I]=Kr(o,B+u);g===0&&y("Can't get an output name."),F.push(g);let $=s.UTF8ToString(g);A.push($),E.push(T===0?{name:$,isTensor:!1}:{name:$,isTensor:!0,type:Xt(T),shape:I})}return $e.set(o,[o,c,F,null,f,!1]),[o,p,A,m,E]}catch(u){throw c.forEach(d=>s._OrtFree(d)),F.forEach(d=>s._OrtFree(d)),a!==0&&s._OrtReleaseBinding(a)!==0&&y("Can't release IO binding."),o!==0&&s._OrtReleaseSession(o)!==0&&y("Can't release session."),u}finally{s._free(r),i!==0&&s._OrtReleaseSessionOptions(i)!==0&&y("Can't release session options."),l.forEach(u=>s._free(u)),s.unmountExternalData?.()}},En=e=>{let t=b(),r=$e.get(e);if(!r)throw new Error(`cannot release session. invalid session id: ${e}`);let[n,s,o,i,a]=r;i&&(a&&t._OrtClearBoundOutputs(i.handle)!==0&&y("Can't clear bound outputs."),t._OrtReleaseBinding(i.handle)!==0&&y("Can't release IO binding.")),t.jsepOnReleaseSession?.(e),t.webnnOnReleaseSession?.(e),t.webgpuOnReleaseSession?.(e),s.forEach(l=>t._OrtFree(l)),o.forEach(l=>t._OrtFree(l)),t._OrtReleaseSession(n)!==0&&y("Can't release session."),$e.delete(e)},Yr=async(e,t,r,n,s,o,i=!1)=>{if(!e){t.push(0);return}let a=b(),l=a.PTR_SIZE,c=e[0],F=e[1],u=e[3],d=u,f,p;if(c==="string"&&(u==="gpu-buffer"||u==="ml-tensor"))throw new Error("String tensor is not supported on GPU.");if(i&&u!=="gpu-buffer")throw new Error(`External buffer must be provided for input/output index ${o} when enableGraphCapture is true.`);if(u==="gpu-buffer"){let E=e[2].gpuBuffer;p=nt(rt(c),F);{let h=a.jsepRegisterBuffer;if(!h)throw new Error('Tensor location "gpu-buffer" is not supported without using WebGPU.');f=h(n,o,E,p)}}else if(u==="ml-tensor"){let E=e[2].mlTensor;p=nt(rt(c),F);let h=a.webnnRegisterMLTensor;if(!h)throw new Error('Tensor location "ml-tensor" is not supported without using WebNN.');f=h(n,E,rt(c),F)}else{let E=e[2];if(Array.isArray(E)){p=l*E.length,f=a._malloc(p),r.push(f);for(let h=0;h<E.length;h++){if(typeof E[h]!="string")throw new TypeError(`tensor data at index ${h} is not a string`);a.setValue(f+h*l,Z(E[h],r),"*")}}else{let h=a.webnnIsGraphInput,B=a.webnnIsGraphOutput;if(c!=="string"&&h&&B){let g=a.UTF8ToString(s);if(h(n,g)||B(n,g)){let T=rt(c);p=nt(T,F),d="ml-tensor";let I=a.webnnCreateTemporaryTensor,$=a.webnnUploadTensor;if(!I||!$)throw new Error('Tensor location "ml-tensor" is not supported without using WebNN.');let Le=await I(n,T,F);$(Le,new Uint8Array(E.buffer,E.byteOffset,E.byteLength)),f=Le}else p=E.byteLength,f=a._malloc(p),r.push(f),a.HEAPU8.set(new Uint8Array(E.buffer,E.byteOffset,p),f)}else p=E.byteLength,f=a._malloc(p),r.push(f),a.HEAPU8.set(new Uint8Array(E.buffer,E.byteOffset,p),f)}}let A=a.stackSave(),m=a.stackAlloc(4*F.length);try{F.forEach((h,B)=>a.setValue(m+B*l,h,l===4?"i32":"i64"));let E=a._OrtCreateTensor(rt(c),f,p,m,F.length,mi(d));E===0&&y(`Can't create tensor for input/output. session=${n}, index=${o}.`),t.push(E)}finally{a.stackRestore(A)}},mn=async(e,t,r,n,s,o)=>{let i=b(),a=i.PTR_SIZE,l=$e.get(e);if(!l)throw new Error(`cannot run inference. invalid session id: ${e}`);let c=l[0],F=l[1],u=l[2],d=l[3],f=l[4],p=l[5],A=t.length,m=n.length,E=0,h=[],B=[],g=[],T=[],I=[],$=i.stackSave(),Le=i.stackAlloc(A*a),Dn=i.stackAlloc(A*a),nr=i.stackAlloc(m*a),Mn=i.stackAlloc(m*a);try{[E,h]=pi(o),We("wasm prepareInputOutputTensor");for(let L=0;L<A;L++)await Yr(r[L],B,T,e,F[t[L]],t[L],f);for(let L=0;L<m;L++)await Yr(s[L],g,T,e,u[n[L]],A+n[L],f);Ge("wasm prepareInputOutputTensor");for(let L=0;L<A;L++)i.setValue(Le+L*a,B[L],"*"),i.setValue(Dn+L*a,F[t[L]],"*");for(let L=0;L<m;L++)i.setValue(nr+L*a,g[L],"*"),i.setValue(Mn+L*a,u[n[L]],"*");i.jsepOnRunStart?.(c),i.webnnOnRunStart?.(c);let ee;ee=await i._OrtRun(c,Dn,Le,A,Mn,m,nr,E),ee!==0&&y("failed to call OrtRun().");let le=[],bn=[];We("wasm ProcessOutputTensor");for(let L=0;L<m;L++){let te=Number(i.getValue(nr+L*a,"*"));if(te===g[L]||I.includes(g[L])){le.push(s[L]),te!==g[L]&&i._OrtReleaseTensor(te)!==0&&y("Can't release tensor.");continue}let zi=i.stackSave(),de=i.stackAlloc(4*a),Lt=!1,P,U=0;try{i._OrtGetTensorData(te,de,de+a,de+2*a,de+3*a)!==0&&y(`Can't access output tensor data on index ${L}.`);let sr=a===4?"i32":"i64",wt=Number(i.getValue(de,sr));U=i.getValue(de+a,"*");let _n=i.getValue(de+a*2,"*"),ji=Number(i.getValue(de+a*3,sr)),fe=[];for(let R=0;R<ji;R++)fe.push(Number(i.getValue(_n+R*a,sr)));i._OrtFree(_n)!==0&&y("Can't free memory for tensor dims.");let pe=fe.reduce((R,k)=>R*k,1);P=Xt(wt);let it=d?.outputPreferredLocations[n[L]];if(P==="string"){if(it==="gpu-buffer"||it==="ml-tensor")throw new Error("String tensor is not supported on GPU.");let R=[];for(let k=0;k<pe;k++){let ce=i.getValue(U+k*a,"*"),Wi=i.getValue(U+(k+1)*a,"*"),Gi=k===pe-1?void 0:Wi-ce;R.push(i.UTF8ToString(ce,Gi))}le.push([P,fe,R,"cpu"])}else if(it==="gpu-buffer"&&pe>0){let R=i.jsepGetBuffer;if(!R)throw new Error('preferredLocation "gpu-buffer" is not supported without using WebGPU.');let k=R(U),ce=nt(wt,pe);if(ce===void 0||!Fn(P))throw new Error(`Unsupported data type: ${P}`);Lt=!0,le.push([P,fe,{gpuBuffer:k,download:i.jsepCreateDownloader(k,ce,P),dispose:()=>{i._OrtReleaseTensor(te)!==0&&y("Can't release tensor.")}},"gpu-buffer"])}else if(it==="ml-tensor"&&pe>0){let R=i.webnnEnsureTensor,k=i.webnnIsGraphInputOutputTypeSupported;if(!R||!k)throw new Error('preferredLocation "ml-tensor" is not supported without using WebNN.');if(nt(wt,pe)===void 0||!dn(P))throw new Error(`Unsupported data type: ${P}`);if(!k(e,P,!1))throw new Error(`preferredLocation "ml-tensor" for ${P} output is not supported by current WebNN Context.`);let ce=await R(e,U,wt,fe,!1);Lt=!0,le.push([P,fe,{mlTensor:ce,download:i.webnnCreateMLTensorDownloader(U,P),dispose:()=>{i.webnnReleaseTensorId(U),i._OrtReleaseTensor(te)}},"ml-tensor"])}else if(it==="ml-tensor-cpu-output"&&pe>0){let R=i.webnnCreateMLTensorDownloader(U,P)(),k=le.length;Lt=!0,bn.push((async()=>{let ce=[k,await R];return i.webnnReleaseTensorId(U),i._OrtReleaseTensor(te),ce})()),le.push([P,fe,[],"cpu"])}else{let R=hi(P),k=new R(pe);new Uint8Array(k.buffer,k.byteOffset,k.byteLength).set(i.HEAPU8.subarray(U,U+k.byteLength)),le.push([P,fe,k,"cpu"])}}finally{i.stackRestore(zi),P==="string"&&U&&i._free(U),Lt||i._OrtReleaseTensor(te)}}d&&!f&&(i._OrtClearBoundOutputs(d.handle)!==0&&y("Can't clear bound outputs."),$e.set(e,[c,F,u,d,f,!1]));for(let[L,te]of await Promise.all(bn))le[L][2]=te;return Ge("wasm ProcessOutputTensor"),le}finally{i.webnnOnRunEnd?.(c),i.stackRestore($),B.forEach(ee=>i._OrtReleaseTensor(ee)),g.forEach(ee=>i._OrtReleaseTensor(ee)),T.forEach(ee=>i._free(ee)),E!==0&&i._OrtReleaseRunOptions(E),h.forEach(ee=>i._free(ee))}},Cn=e=>{let t=b(),r=$e.get(e);if(!r)throw new Error("invalid session id");let n=r[0],s=t._OrtEndProfiling(n);s===0&&y("Can't get an profile file name."),t._OrtFree(s)},Bn=e=>{let t=[];for(let r of e){let n=r[2];!Array.isArray(n)&&"buffer"in n&&t.push(n.buffer)}return t}}),vi=w(()=>{"use strict";qe(),gi(),st(),ln(),ge=()=>!!_.wasm.proxy&&typeof document<"u",tt=!1,mt=!1,Ct=!1,Kt=new Map,Ne=(e,t)=>{let r=Kt.get(e);r?r.push(t):Kt.set(e,[t])},Ie=()=>{if(tt||!mt||Ct||!q)throw new Error("worker not ready")},jo=e=>{switch(e.data.type){case"init-wasm":tt=!1,e.data.err?(Ct=!0,Xr[1](e.data.err)):(mt=!0,Xr[0]()),Jt&&(URL.revokeObjectURL(Jt),Jt=void 0);break;case"init-ep":case"copy-from":case"create":case"release":case"run":case"end-profiling":{let t=Kt.get(e.data.type);e.data.err?t.shift()[1](e.data.err):t.shift()[0](e.data.out);break}default:}},Li=async()=>{if(!mt){if(tt)throw new Error("multiple calls to 'initWasm()' detected.");if(Ct)throw new Error("previous call to 'initWasm()' failed.");if(tt=!0,ge())return new Promise((e,t)=>{q?.terminate(),di().then(([r,n])=>{try{q=n,q.onerror=o=>t(o),q.onmessage=jo,Xr=[e,t];let s={type:"init-wasm",in:_};if(!s.in.wasm.wasmPaths&&r){let o=an();o&&(s.in.wasm.wasmPaths=o)}q.postMessage(s),Jt=r}catch(s){t(s)}},t)});try{await cn(_.wasm),await pn(_),mt=!0}catch(e){throw Ct=!0,e}finally{tt=!1}}},wi=async e=>{if(ge())return Ie(),new Promise((t,r)=>{Ne("init-ep",[t,r]);let n={type:"init-ep",in:{epName:e,env:_}};q.postMessage(n)});await An(_,e)},yi=async e=>ge()?(Ie(),new Promise((t,r)=>{Ne("copy-from",[t,r]);let n={type:"copy-from",in:{buffer:e}};q.postMessage(n,[e.buffer])})):er(e),Di=async(e,t)=>{if(ge()){if(t?.preferredOutputLocation)throw new Error('session option "preferredOutputLocation" is not supported for proxy.');return Ie(),new Promise((r,n)=>{Ne("create",[r,n]);let s={type:"create",in:{model:e,options:{...t}}},o=[];e instanceof Uint8Array&&o.push(e.buffer),q.postMessage(s,o)})}else return hn(e,t)},Mi=async e=>{if(ge())return Ie(),new Promise((t,r)=>{Ne("release",[t,r]);let n={type:"release",in:e};q.postMessage(n)});En(e)},bi=async(e,t,r,n,s,o)=>{if(ge()){if(r.some(i=>i[3]!=="cpu"))throw new Error("input tensor on GPU is not supported for proxy.");if(s.some(i=>i))throw new Error("pre-allocated output tensor is not supported for proxy.");return Ie(),new Promise((i,a)=>{Ne("run",[i,a]);let l=r,c={type:"run",in:{sessionId:e,inputIndices:t,inputs:l,outputIndices:n,options:o}};q.postMessage(c,Bn(l))})}else return mn(e,t,r,n,s,o)},_i=async e=>{if(ge())return Ie(),new Promise((t,r)=>{Ne("end-profiling",[t,r]);let n={type:"end-profiling",in:e};q.postMessage(n)});Cn(e)}}),qu=w(()=>{"use strict";qe(),vi(),Ci(),on(),Bi(),Zr=(e,t)=>{switch(e.location){case"cpu":return[e.type,e.dims,e.data,"cpu"];case"gpu-buffer":return[e.type,e.dims,{gpuBuffer:e.gpuBuffer},"gpu-buffer"];case"ml-tensor":return[e.type,e.dims,{mlTensor:e.mlTensor},"ml-tensor"];default:throw new Error(`invalid data location: ${e.location} for ${t()}`)}},Wo=e=>{switch(e[3]){case"cpu":return new Q(e[0],e[2],e[1]);case"gpu-buffer":{let t=e[0];if(!Fn(t))throw new Error(`not supported data type: ${t} for deserializing GPU tensor`);let{gpuBuffer:r,download:n,dispose:s}=e[2];return Q.fromGpuBuffer(r,{dataType:t,dims:e[1],download:n,dispose:s})}case"ml-tensor":{let t=e[0];if(!dn(t))throw new Error(`not supported data type: ${t} for deserializing MLTensor tensor`);let{mlTensor:r,download:n,dispose:s}=e[2];return Q.fromMLTensor(r,{dataType:t,dims:e[1],download:n,dispose:s})}default:throw new Error(`invalid data location: ${e[3]}`)}},ki=class{async fetchModelAndCopyToWasmMemory(e){return yi(await fn(e))}async loadModel(e,t){ze();let r;typeof e=="string"?r=await this.fetchModelAndCopyToWasmMemory(e):r=e,[this.sessionId,this.inputNames,this.outputNames,this.inputMetadata,this.outputMetadata]=await Di(r,t),je()}async dispose(){return Mi(this.sessionId)}async run(e,t,r){ze();let n=[],s=[];Object.entries(e).forEach(u=>{let d=u[0],f=u[1],p=this.inputNames.indexOf(d);if(p===-1)throw new Error(`invalid input '${d}'`);n.push(f),s.push(p)});let o=[],i=[];Object.entries(t).forEach(u=>{let d=u[0],f=u[1],p=this.outputNames.indexOf(d);if(p===-1)throw new Error(`invalid output '${d}'`);o.push(f),i.push(p)});let a=n.map((u,d)=>Zr(u,()=>`input "${this.inputNames[s[d]]}"`)),l=o.map((u,d)=>u?Zr(u,()=>`output "${this.outputNames[i[d]]}"`):null),c=await bi(this.sessionId,s,a,i,l,r),F={};for(let u=0;u<c.length;u++)F[this.outputNames[i[u]]]=o[u]??Wo(c[u]);return je(),F}startProfiling(){}endProfiling(){_i(this.sessionId)}}}),Ti={};rn(Ti,{OnnxruntimeWebAssemblyBackend:()=>en,initializeFlags:()=>Qr,wasmBackend:()=>xi});Hu=w(()=>{"use strict";qe(),vi(),qu(),Qr=()=>{(typeof _.wasm.initTimeout!="number"||_.wasm.initTimeout<0)&&(_.wasm.initTimeout=0);let e=_.wasm.simd;if(typeof e!="boolean"&&e!==void 0&&e!=="fixed"&&e!=="relaxed"&&(console.warn(`Property "env.wasm.simd" is set to unknown value "${e}". Reset it to \`false\` and ignore SIMD feature checking.`),_.wasm.simd=!1),typeof _.wasm.proxy!="boolean"&&(_.wasm.proxy=!1),typeof _.wasm.trace!="boolean"&&(_.wasm.trace=!1),typeof _.wasm.numThreads!="number"||!Number.isInteger(_.wasm.numThreads)||_.wasm.numThreads<=0)if(typeof self<"u"&&!self.crossOriginIsolated)_.wasm.numThreads=1;else{let t=typeof navigator>"u"?bu("node:os").cpus().length:navigator.hardwareConcurrency;_.wasm.numThreads=Math.min(4,Math.ceil((t||1)/2))}},en=class{async init(e){Qr(),await Li(),await wi(e)}async createInferenceSessionHandler(e,t){let r=new ki;return await r.loadModel(e,t),r}},xi=new en});qe();qe();qe();Vu="1.30.0",Ju=ci;{let e=(Hu(),Go(Ti)).wasmBackend;gt("cpu",e,10),gt("wasm",e,10)}Object.defineProperty(_.versions,"web",{value:Vu,enumerable:!0})});x();x();Te();function Nn(e,t,r){let n=new Map;e.forEach((o,i)=>{let a=$n(o).join();n.set(a,[...n.get(a)??[],i])});let s=[];for(let o of n.values()){let i=$n(e[o[0]]);for(let a of ca(i.length,o,e,t))a.reduce((c,F)=>c+r(e[F].ids.length),0)>t.seqLen&&s.push({places:a,packed:ua(i,a.map(c=>e[c]))})}return s}function $n(e){return e.ids.slice(0,e.types.filter(t=>t===0).length)}function ca(e,t,r,n){let s=i=>r[i].ids.length-e,o=[];for(let i of[...t].sort((a,l)=>s(l)-s(a))){let a=o.find(l=>l.room>=s(i)&&l.places.length<n.texts);a||o.push(a={places:[],room:n.seqLen-e}),a.places.push(i),a.room-=s(i)}return o.map(i=>i.places)}function ua(e,t){let r=[...e],n=e.map(()=>0);return t.forEach((s,o)=>{for(let i of s.ids.slice(e.length))r.push(i),n.push(o+1)}),{ids:r,types:n}}var ue=class{constructor(t){this.opened=t;({card:this.card,fingerprint:this.fingerprint,tokenizer:this.tokenizer,network:this.network}=t)}opened;card;fingerprint;tokenizer;network;get runtime(){return this.network.runtime}get mostRows(){return this.network.mostRows}get threads(){return this.network.threads}dispose(){this.network.dispose()}encode(t){let r=t.map(n=>typeof n=="string"?[n]:n);return this.tokenizer.encode(r,this.card.seqLen)}async runFull(t){let r={ids:new Array(t).fill(this.card.tokenizer.padId),types:new Array(t).fill(0)};await this.network.run(kt([r],t,this.card))}async runRows(t,r){let n=i=>t[i].ids.length,s=t.map((i,a)=>a).sort((i,a)=>n(i)-n(a)),o=new Array(t.length);for(let i=0;i<s.length;){let a=this.card.bucket(n(s[i])).seqLen,l=s.slice(i,i+this.network.mostRows).filter(p=>this.card.bucket(n(p)).seqLen===a),c=a;if(l.length>1){let p=Math.ceil(n(l.at(-1))/8);c=Math.min(a,Math.max(8*p,this.card.buckets[0]?.seqLen??a))}let F=kt(l.map(p=>t[p]),c,this.card),u=[l.length,...this.card.outputs(c)[r].slice(1)],d=dr(await this.network.run(F),r,u),f=d.length/l.length;l.forEach((p,A)=>o[p]=d.slice(A*f,(A+1)*f)),i+=l.length}return o}async runPacked(t,r){let n=new Map,s=this.network.packed;if(!s)return n;let o=this.card.labels.length;for(let{places:i,packed:a}of Nn(t,s,l=>this.card.bucket(l).seqLen)){let l=await this.network.runPacked(kt([a],s.seqLen,this.card)),c=dr(l,r,[1,s.texts,o]);i.forEach((F,u)=>n.set(F,c.slice(u*o,(u+1)*o)))}return n}};function Xe(e,t){return new C(`the artefact is for ${e.task}, not for ${t}; open it with load()`)}Te();x();var Fa=/\p{Surrogate}/u,da=/^[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$/,fa=/[\u0300-\u036f\ufe00-\ufe0f\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]|\p{C}/gu;function K(e,t){let r=t===1?"a text":"a pair of texts";if(!Array.isArray(e))throw new D(`give a list with ${r} in each entry`);e.forEach((n,s)=>{let o=t===1?[n]:Array.isArray(n)?n:[];if(o.length!==t||!o.every(i=>typeof i=="string"))throw new D(`entry ${s+1} is not ${r}`);if(o.some(i=>Fa.test(i)))throw new D(`entry ${s+1} holds half a surrogate pair; give the whole text, or leave that character out`)})}function Un(e){e.forEach((t,r)=>{let n=t.findIndex(fr);if(!(n<0))throw new D(`entry ${r+1}: its ${n?"second":"first"} text is empty; leave the pair out`)})}function fr(e){return da.test(e)}function zn(e,t){return In(e)===In(t)}function In(e){return e.normalize("NFKD").toUpperCase().toLowerCase().replace(fa,"")}Ae();x();ve();Ae();x();var Tt="SHA256SUMS",pa=[Ye,be,_e],Aa=255,ha=/^(?:[^\p{C}\p{Z}]| )+$/u,xt=class{name;constructor(t){this.name=t.replace(/\/+$/,"")}async read(t,r,n){let s=`${this.name}/${encodeURIComponent(t)}`,o=()=>new C(`${s}: has more than the ${r} bytes allowed; export the artefact again`),i;try{i=await fetch(s)}catch(d){throw new C(`${s}: can't be read (${V(d)}); look at the address and the connection`)}if(!i.ok||!i.body)throw new C(`${s}: missing (${i.status}); export or copy the artefact again`);if(Number(i.headers.get("content-length"))>r)throw await i.body.cancel(),o();let a=[],l=0,c=i.body.getReader();for(let d=await c.read();!d.done;d=await c.read()){if(a.push(d.value),l+=d.value.length,l>r)throw await c.cancel(),o();n?.(l,t)}let F=new Uint8Array(l),u=0;for(let d of a)F.set(d,u),u+=d.length;return F}};async function jn(e,t){let r=`${e.name}/${Ye}`,n=J(await e.read(Ye,Ve(Ye)),r),s=lt.read(Je(n,r,"card"),r),{files:o,sums:i}=await pr(e,s.files,t),l=[s.modelFile,...pa].filter(c=>s.files.includes(c)).sort().map(c=>`${i.get(c)}  ${c}
`).join("");return{card:s,files:o,fingerprint:await Pt(e,new TextEncoder().encode(l))}}async function pr(e,t,r,n="export the artefact again"){let s=`${e.name}/${Tt}`,o=new Map;for(let a of J(await e.read(Tt,Ve(Tt)),s).split(`
`)){let l=a.indexOf("  "),c=l<0?"":a.slice(l+2);c&&o.set(c,a.slice(0,l))}for(let a of t)if(!o.has(a))throw new C(`${s}: does not list ${a}; ${n}`);for(let a of o.keys())if(a.length>Aa||/[/\\]/.test(a)||a==="."||a===".."||!ha.test(a))throw new C(`${s}: ${M(a)} is not a file name; ${n}`);let i=new Map;return await Promise.all([...o].map(async([a,l])=>{let c=await e.read(a,Ve(a),r);if(await Pt(e,c)!==l)throw new C(`${e.name}/${a}: damaged (its SHA-256 is not the one in ${Tt}); ${n}`);i.set(a,c)})),{files:i,sums:o}}async function Pt(e,t){return e.sha256?.(t)??Ea(t)}async function Ea(e){if(!globalThis.crypto?.subtle)throw new re("this page has no Web Crypto, so that checksums can't be checked; serve it by https or from localhost");return[...new Uint8Array(await crypto.subtle.digest("SHA-256",e))].map(r=>r.toString(16).padStart(2,"0")).join("")}x();Te();var ne=class e extends ue{constructor(t){if(super(t),!e.reads(this.card))throw Xe(this.card,"text-matching")}static reads(t){return t.task==="text-matching"}async score(t,{symmetric:r=!1}={}){K(t,2);let n=t.map(([u,d])=>this.card.lengthShift?.of(u,d)??0),s=(u,d)=>Ba(u,this.card,n[d]??0),o=this.ordered(t,r),i=r&&!this.card.symmetric,a=this.rowsOf(i?o.flatMap(([u,d])=>[[u,d],[d,u]]):o),l=await this.logitsOf(a),c=i?2:1,F=o.map((u,d)=>{let f=s(l[c*d],d);return i?Math.fround(.5*Math.fround(f+s(l[2*d+1],d))):f});return this.keptApart(F,o,a.filter((u,d)=>d%c===0))}label(t){let{labels:r,positive:n,threshold:s}=this.card,o=r[n];return t>=s?o:r.length===2?r[1-n]:`not ${o}`}async rank(t,r,n){if(n!==void 0&&!(n>=1))throw new D(`the ${n} best texts can't be; give 1 or more`);K([t],1),K(r,1);let s=await this.score(r.map(o=>[t,o]));return Ar(s,r,n)}async logits(t){return K(t,2),this.logitsOf(this.rowsOf(this.ordered(t)))}ordered(t,r=!1){return this.card.symmetric&&(r||!this.network.packed)?t.map(Ca):t}rowsOf(t){return Un(t),this.encode(t)}async logitsOf(t){let r=await this.runPacked(t,ke.logits),n=t.map((o,i)=>i).filter(o=>!r.has(o)),s=await this.runRows(n.map(o=>t[o]),ke.logits);return n.forEach((o,i)=>r.set(o,s[i])),t.map((o,i)=>r.get(i))}keptApart(t,r,n){let{seqLen:s,threshold:o}=this.card,i=r.map((c,F)=>this.tokenizer.confuses(c,n[F].ids,s)),a=i.indexOf(!0);if(a<0)return t;console.warn(`entry ${a+1}: ${JSON.stringify(r[a]).slice(0,120)} are the same tokens to the network: the vocabulary lacks what they differ in, or they differ beyond ${s} tokens; its score is kept below the threshold`);let l=ma(o);return t.map((c,F)=>i[F]?Math.min(c,l):c)}};function Ar(e,t,r=t.length){return t.map((s,o)=>o).sort((s,o)=>e[o]-e[s]).slice(0,r).map(s=>({place:s,score:e[s],text:t[s]}))}function ma(e){let t=new Float32Array([e]),r=new Int32Array(t.buffer);for(;t[0]>=e;)t[0]===0?t[0]=-(2**-149):r[0]=r[0]+(t[0]>0?-1:1);return t[0]}function Ca(e){let[t,r]=e.map(o=>[...o].map(i=>i.codePointAt(0))),n=t.findIndex((o,i)=>o!==r[i]);return(n<0?!1:n>=r.length||t[n]>r[n])?[e[1],e[0]]:e}function Ba(e,t,r){let n=Array.from(e,i=>i/t.temperature);if(n[t.positive]=n[t.positive]+r,t.activation==="identity")return Math.fround(n[0]);t.activation==="sigmoid"&&n.push(0);let s=Math.max(...n),o=n.map(i=>Math.exp(i-s));return Math.fround(o[t.positive]/o.reduce((i,a)=>i+a,0))}x();var Wn={"|i1":"int8","<f2":"float16","<f4":"float32"},ga=[147,...[..."NUMPY"].map(e=>e.charCodeAt(0))];function hr(e,t,r,n){let s=A=>new C(`${t}: ${A}; build the index again`);if(e.length<12||ga.some((A,m)=>e[m]!==A))throw s("damaged (not an .npy file)");let o=new DataView(e.buffer,e.byteOffset,e.byteLength),i=e[6]>1,a=(i?12:10)+(i?o.getUint32(8,!0):o.getUint16(8,!0)),l=new TextDecoder("latin1").decode(e.subarray(i?12:10,a)),c=/'descr': '([^']+)'/.exec(l)?.[1]??"",F=Object.hasOwn(Wn,c)?Wn[c]:null,u=(/'shape': \(([0-9, ]*)\)/.exec(l)?.[1]??"").split(",").filter(A=>A.trim()).map(Number);if(!F||!r.includes(F)||u.length!==n||!/'fortran_order': False/.test(l))throw s(`is no array of ${r.join(" or ")}`);let d=u.reduce((A,m)=>A*m,1),f={int8:1,float16:2,float32:4}[F];if(e.length-a!==d*f)throw s("damaged (its length is not that of its shape)");let p=F==="int8"?new Int8Array(d):new Float32Array(d);for(let A=0;A<d;A++){let m=a+A*f;p[A]=F==="int8"?o.getInt8(m):F==="float32"?o.getFloat32(m,!0):La(o.getUint16(m,!0))}if(!p.every(Number.isFinite))throw s("holds numbers that are not finite");return{dtype:F,shape:u,data:p}}function La(e){let t=e&32768?-1:1,r=e>>10&31,n=e&1023;return r===31?n?Number.NaN:t*Number.POSITIVE_INFINITY:r?t*2**(r-15)*(1+n/1024):t*2**-14*(n/1024)}var Er="vectors.npy",mr="scales.npy",Rt="texts.jsonl",Cr="index.json",Gn=1,Ee=class e{constructor(t,r,n,s,o){this.texts=t;this.size=r;this.rows=n;this.scales=s;this.encoder=o}texts;size;rows;scales;encoder;static build(t,r,n=null){let s=t[0]?.length;if(!s)throw new D("an index needs a vector and its text at least");let o=new e([],s,new Int8Array(0),new Float32Array(0),n);return o.add(t,r),o}add(t,r){if(!this.scales)throw new D("an index in float16 takes no more texts; build one in int8");if(t.length!==r.length)throw new D(`${r.length} texts for ${t.length} vectors; give one of each`);let n=this.texts.length;this.grow(n+t.length);let[s,o]=[this.rows,this.scales];t.forEach((i,a)=>{if(i.length!==this.size)throw new D(`a vector has ${i.length} numbers, the others have ${this.size}`);let l=qn(i,"a vector"),c=Math.fround(l.reduce((F,u)=>Math.max(F,Math.abs(u)),0)/127);o[n+a]=c,l.forEach((F,u)=>s[(n+a)*this.size+u]=Da(Math.fround(F/c)))}),this.texts.push(...r)}grow(t){if(!this.scales||t<=this.scales.length)return;let r=Math.max(t,2*this.scales.length),n=new Int8Array(r*this.size),s=new Float32Array(r);n.set(this.rows),s.set(this.scales),this.rows=n,this.scales=s}nearest(t,r=10){if(!(r>=1))throw new D(`the ${r} nearest texts can't be; give 1 or more`);if(t.length!==this.size)throw new D(`the query's vector has ${t.length} numbers; the texts' have ${this.size}`);let n=qn(t,"the query's vector"),s=new Float32Array(this.texts.length);for(let o=0;o<s.length;o++){let i=0;for(let l=0,c=o*this.size;l<this.size;l++,c++)i+=this.rows[c]*n[l];let a=this.scales?Math.fround(i)*this.scales[o]:i;s[o]=Math.min(1,Math.max(-1,a))}return Ar(s,this.texts,r)}static async read(t){let{files:r}=await pr(t,[Er,Rt,Cr],void 0,"build the index again"),n=F=>`${t.name}/${F}`,s=hr(r.get(Er),n(Er),["int8","float16"],2),o=null;if(s.dtype==="int8"){let F=r.get(mr);if(!F)throw new C(`${t.name}: SHA256SUMS does not list ${mr}; build the index again`);o=hr(F,n(mr),["float32"],1).data}let i=ya(r.get(Rt),n(Rt)),[a=0,l=0]=s.shape;for(let[F,u]of[[i.length,"texts"],[o?.length??a,"scales"]])if(F!==a)throw new C(`${t.name}: ${F} ${u} for ${a} vectors; build the index again`);let c=wa(r.get(Cr),n(Cr));return new e(i,l,s.data,o,c)}};function wa(e,t){let r=new G(Je(J(e,t),t,"card"),t);if(r.integer("format",0,Number.MAX_SAFE_INTEGER)!==Gn)throw new C(`${t}: is of another format than ${Gn}; build the index again`);return r.take("encoder","string","null")===null?null:r.text("encoder")}function ya(e,t){if(e.length>Ve(Rt))throw new C(`${t}: is too large; build the index again`);return J(e,t).split(`
`).slice(0,-1).map(n=>{let s=null;try{s=JSON.parse(n)}catch{s=null}if(typeof s!="string")throw new C(`${t}: holds what is no text; build the index again`);return s})}function qn(e,t){let r=Math.sqrt(e.reduce((n,s)=>n+s*s,0));if(!(Number.isFinite(r)&&r))throw new D(`${t} is zero or not finite, so it has no direction`);return e.map(n=>n/r)}function Da(e){let t=Math.floor(e),r=e-t;return r>.5||r===.5&&t%2!==0?t+1:t}var me=class e extends ue{constructor(t){if(super(t),!e.reads(this.card))throw Xe(this.card,"sentence-embedding")}static reads(t){return t.embedding!==null}static of(t){return new e(t.opened)}get size(){return this.card.embedding?.size??0}async embed(t){return K(t,1),this.runRows(this.encode(t),ke.embedding)}async index(t){return Ee.build(await this.embed(t),t,this.fingerprint)}async search(t,r,n=10){if(r.encoder===null)throw new C("the index does not say what made it; build it again with Embedder.index");if(r.encoder!==this.fingerprint)throw new C("the index was made by another artefact, or with other words or spelling; build it again");let[s]=await this.embed([t]);return r.nearest(s,n)}};x();x();x();Te();var xe=class e extends ue{constructor(t){if(super(t),!e.reads(this.card))throw Xe(this.card,"text-classification")}static reads(t){return t.task==="text-classification"}async classify(t){return(await this.scores(t)).map(r=>r.map((n,s)=>({label:this.card.labels[s],score:n})).sort((n,s)=>s.score-n.score))}async scores(t){return(await this.logits(t)).map(r=>Ma(r,this.card.activation))}async logits(t){return K(t,this.card.texts),this.runRows(this.encode(t),ke.logits)}};function Ma(e,t){let r=Array.from(e);if(t==="identity")return r;let n=a=>a>=0?1/(1+Math.exp(-a)):Math.exp(a)/(1+Math.exp(a));if(t==="sigmoid")return r.map(a=>Math.fround(n(a)));let s=Math.max(...r),o=r.map(a=>Math.exp(a-s)),i=o.reduce((a,l)=>a+l,0);return o.map(a=>Math.fround(a/i))}var ba=class{constructor(e){this.trie=this._build_trie(e)}_build_trie(e){let t=Object.create(null);for(let r of e){let n=t;for(let s=0;s<r.length;++s){let o=r[s];n=n[o]??=Object.create(null)}n.end=r}return t}split(e){let t=[],r=e.length,n=0,s=0;for(;s<r;){let o=this.trie,i=null,a=s;for(;a<r&&(o=o[e[a]]);)o.end&&(i=o.end),++a;i?(s>n&&t.push(e.slice(n,s)),t.push(i),s+=i.length,n=s):++s}return n<r&&t.push(e.slice(n)),t}},Hn=ba,_a=class{constructor(e){this.content=e.content,this.id=e.id,this.single_word=e.single_word??!1,this.lstrip=e.lstrip??!1,this.rstrip=e.rstrip??!1,this.special=e.special??!1,this.normalized=e.normalized??!this.special}},va=_a,rs=(e,t)=>{try{return new RegExp(e,t)}catch(r){if(!(r instanceof SyntaxError))throw r;let n=new Map,s=e.replace(/(\\[pP])\{([^}=]+)\}/g,(o,i,a,l)=>{let c=0;for(let u=l-1;u>=0&&e[u]==="\\";--u)++c;if(c%2===1)return o;let F=n.get(a);if(F===void 0){try{new RegExp(`\\p{${a}}`,"u"),F=a}catch{F=`Script=${a}`}n.set(a,F)}return`${i}{${F}}`});if(s===e)throw r;try{return new RegExp(s,t)}catch{throw r}}},gr=e=>e.replace(/ \./g,".").replace(/ \?/g,"?").replace(/ \!/g,"!").replace(/ ,/g,",").replace(/ \' /g,"'").replace(/ n't/g,"n't").replace(/ 'm/g,"'m").replace(/ 's/g,"'s").replace(/ 've/g,"'ve").replace(/ 're/g,"'re"),Nt=(e,t=!0)=>{if(e.Regex!==void 0){let r=Ha(Wa(e.Regex));return rs(r,"gu")}else if(e.String!==void 0){let r=Va(e.String);return new RegExp(t?r:`(${r})`,"gu")}else return console.warn("Unknown pattern type:",e),null},Ze="\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}",ns=`${Ze}\\u00B2\\u00B3\\u00B9\\u00BC-\\u00BE`,se=`[${ns}]`,ss=`[^${ns}]`,ka=`(?:(?<!${se})(?=${se})|(?<=${se})(?!${se}))`,Ta=`(?:(?<!${se})(?!${se})|(?<=${se})(?=${se}))`,xa="(?:(?<![\\s\\S])|(?<=\\n))",Pa="(?:(?=\\n)|(?![\\s\\S]))",ut="0-9A-Fa-f",Ra=new Map([["A","(?<![\\s\\S])"],["z","(?![\\s\\S])"],["Z","(?=\\n?(?![\\s\\S]))"],["h",`[${ut}]`],["H",`[^${ut}]`],["w",se],["W",ss],["d","\\p{Nd}"],["D","\\P{Nd}"],["s","\\p{White_Space}"],["S","\\P{White_Space}"],["b",ka],["B",Ta],["a","\\x07"],["e","\\x1B"]]),Sa=new Map([["h",ut],["w",Ze],["d","\\p{Nd}"],["D","\\P{Nd}"],["s","\\p{White_Space}"],["S","\\P{White_Space}"],["a","\\x07"],["e","\\x1B"]]),Oa=new Map([["W",`[^${Ze}]`],["H",`[^${ut}]`]]),os=new Map([[`
`,"\\n"],["\r","\\r"],["	","\\t"],["\f","\\f"],["\v","\\v"]]),$a=new Map([["alpha","\\p{Alphabetic}"],["alnum","\\p{Alphabetic}\\p{Nd}"],["digit","\\p{Nd}"],["lower","\\p{Lowercase}"],["upper","\\p{Uppercase}"],["space","\\p{White_Space}"],["blank","\\t\\p{Zs}"],["punct","\\p{P}\\p{S}"],["cntrl","\\p{Cc}"],["word",Ze],["xdigit",ut]]),is="^$\\.*+?()[]{}|/",Na=/^\(\?(?:<[=!]|<[A-Za-z_][A-Za-z0-9_]*>|[:=!>])/,as=/^\\([pPxu])\{([^}]*)\}/,Ia=/^\{(\d+(?:,\d*)?|,\d+)\}/,Ua=/^\[:(\^?)(\p{Alphabetic}+):\]/u,za=/^\[:\^:\]/,ja=/^\[(?:\.[^\]]*\.\]|=[^\]]*=\])/,ls=/^(?:\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\c[A-Za-z])/,cs=e=>e>="A"&&e<="Z"||e>="a"&&e<="z",St=(e,t)=>String.fromCodePoint(e.codePointAt(t)),Vn=e=>{if(!/^[0-9A-Fa-f]{1,8}$/.test(e))return null;let t=Number.parseInt(e,16);if(t>127)return null;let r=String.fromCharCode(t);return cs(r)?`[${r.toLowerCase()}${r.toUpperCase()}]`:null},Wa=e=>e.replace(/\[\^\(\\s\|\[([^\]]+)\]\)\]/g,"[^()|\\s$1]"),us="[\\s\\S]",Jn=256,Kn=()=>({fragment:"",alternatives:[],tail:null,contains_complex_set:!1}),Lr=e=>{throw new SyntaxError(`Unsupported range with a set-valued character-class operand at index ${e}`)},Ot=(e,t,r,n=!0)=>{e.tail==="range"&&Lr(r),e.alternatives.push(t),e.tail="set",e.contains_complex_set=e.contains_complex_set||n},Ce=(e,t,r=!1,n=-1)=>{if(r&&e.tail==="range"&&Lr(n),e.tail==="range"){e.fragment+=t,e.tail="complete_range";return}e.fragment+=t,e.tail=r?"set":"scalar",e.contains_complex_set=e.contains_complex_set||r},Ga=(e,t,r)=>{let n=as.exec(e.slice(t));if(n){let[d,f,p]=n;if(f==="P"&&p==="Word")Ot(r,`[^${Ze}]`,t);else{let A=f==="x"?`\\u{${p}}`:f==="p"&&p==="Word"?Ze:d;Ce(r,A,f==="p"||f==="P",t)}return t+d.length}let s=ls.exec(e.slice(t));if(s)return Ce(r,s[0]),t+s[0].length;if(t+1>=e.length)throw new SyntaxError(`Unterminated escape in character class at index ${t}`);let o=St(e,t+1),i=t+1+o.length,a=os.get(o);if(a!==void 0)return Ce(r,a),i;let l=Oa.get(o);if(l!==void 0)return Ot(r,l,t),i;let c=Sa.get(o),F,u=!1;return c!==void 0?(F=c,u=o!=="a"&&o!=="e"):/[A-Za-z0-9]/.test(o)?F=`\\${o}`:is.includes(o)||o==="-"?F=`\\${o}`:F=o,Ce(r,F,u,t),i},Fs=e=>e.length===1?e[0]:`(?:(?=(?:${e.join("|")}))${us})`,Yn=e=>{let t=e.fragment.length===0?e.alternatives:[`[${e.fragment}]`,...e.alternatives];return Fs(t)},qa=e=>{let t=rs(`^(?:${e})$`,"u"),r="";for(let n=0;n<26;++n){let s=String.fromCharCode(65+n),o=String.fromCharCode(97+n),i=t.test(s),a=t.test(o);i!==a&&(r+=i?o:s)}return r},ds=(e,t,r,n=!0,s=1)=>{if(s>Jn)throw new SyntaxError(`Maximum character-class nesting depth of ${Jn} exceeded at index ${t}`);let o=t+1,i=e[o]==="^";i&&++o;let a=o,l=[Kn()],c=l[0],F=!1;for(;o<e.length;){let u=St(e,o);if(u==="\\"){o=Ga(e,o,c);continue}if(u==="]"){if(o===a){Ce(c,"\\]"),++o;continue}if(c.tail===null)throw l.length>1?new SyntaxError(`Malformed character-class intersection with an empty operand at index ${o}`):new SyntaxError(`Empty character class at index ${t}`);let d=l.some(h=>h.contains_complex_set);if(i&&l.length>1&&F)throw new SyntaxError(`Unsupported outer-negated character-class intersection with a nested negated class containing a Unicode property, POSIX class, or shorthand at index ${t}`);let f=Yn(l[0]),p=f;if(l.length>1){let h="";for(let B=1;B<l.length;++B)h+=`(?=${Yn(l[B])})`;p=`(?:${h}${f})`}let A=l.length===1&&c.alternatives.length===0,m=c.fragment;if(r&&n){let h=qa(p);h.length>0&&(A?(m+=h,p=`[${m}]`):p=Fs([p,`[${h}]`]))}return{atom:i?A?`[^${m}]`:`(?:(?!${p})${us})`:p,end:o+1,negated:i,contains_complex_set:d,contains_nested_negated_complex_set:F}}if(e.startsWith("&&",o)){if(c.tail===null)throw new SyntaxError(`Malformed character-class intersection with an empty operand at index ${o}`);c=Kn(),l.push(c),o+=2;continue}if(u==="["){let d=e.slice(o);if(za.test(d))throw new SyntaxError(`Malformed empty negated POSIX character class at index ${o}`);let f=Ua.exec(d);if(f){let[,A,m]=f,E=$a.get(m);if(E===void 0)throw new SyntaxError(`Unsupported POSIX character class "${m}" at index ${o}`);if(r&&A&&(m==="lower"||m==="upper"))throw new SyntaxError(`Unsupported negated POSIX ${m} class inside an inline case-insensitive group`);A?Ot(c,`[^${E}]`,o):Ce(c,E,!0,o),o+=f[0].length;continue}if(ja.test(d))throw new SyntaxError(`Unsupported POSIX collating or equivalence bracket expression at index ${o}`);let p=ds(e,o,r,!1,s+1);Ot(c,p.atom,o,p.contains_complex_set),F||=p.contains_nested_negated_complex_set||p.negated&&p.contains_complex_set,o=p.end;continue}if(u==="-"){let d=e[o+1]==="]"||e.startsWith("&&",o+1);c.tail==="set"&&!d&&Lr(o),c.tail===null||c.tail==="range"||c.tail==="complete_range"||d?Ce(c,"\\-"):(c.fragment+="-",c.tail="range"),++o;continue}Ce(c,u==="^"&&c.fragment.length===0?"\\^":u),o+=u.length}throw new SyntaxError(`${l.length>1?"Unterminated character-class intersection":"Unterminated character class"} at index ${t}`)},Ha=e=>{let t="",r=-1,n=!1,s=!1,o=[],i=a=>{r=t.length,t+=a,n=!1};for(let a=0;a<e.length;){let l=St(e,a);if(l==="\\"){let c=as.exec(e.slice(a));if(c){let[A,m,E]=c,h=A;if(m==="x"){let B=`\\u{${E}}`;h=s?Vn(E)??B:B}else E==="Word"&&(h=m==="p"?se:ss);i(h),a+=A.length;continue}let F=ls.exec(e.slice(a));if(F){let A=F[0],m=s&&A[1]!=="c"?Vn(A.slice(2))??A:A;i(m),a+=A.length;continue}if(a+1>=e.length){t+=l;break}let u=St(e,a+1);if(a+=1+u.length,u==="G")continue;let d=os.get(u);if(d!==void 0){i(d);continue}let f=Ra.get(u),p;f!==void 0?p=f:/[A-Za-z0-9]/.test(u)?p=`\\${u}`:is.includes(u)?p=`\\${u}`:p=u,i(p);continue}switch(l){case"[":{let c=ds(e,a,s);i(c.atom),a=c.end;continue}case"]":i("\\]"),++a;continue;case".":i("[^\\n]"),++a;continue;case"^":i(xa),++a;continue;case"$":i(Pa),++a;continue;case"(":{let c=e.startsWith("(?i:",a),F=c?"(?i:":Na.exec(e.slice(a))?.[0]??"(",u=c||F==="(?>"?"(?:":F;o.push([t.length,s]),c&&(s=!0),t+=u,n=!1,a+=F.length;continue}case")":t+=l,[r,s]=o.pop()??[-1,!1],n=!1,++a;continue;case"|":t+=l,r=-1,n=!1,++a;continue;case"{":{let c=Ia.exec(e.slice(a));if(!c||r<0){i("\\{"),++a;continue}let F=c[1].startsWith(",")?`0${c[1]}`:c[1];a+=c[0].length;let u=e[a];u==="+"||u==="*"?(t=`${t.slice(0,r)}(?:${t.slice(r)}{${F}})${u}`,++a):t+=`{${F}}`,n=!0;continue}case"}":i("\\}"),++a;continue;case"+":if(n){++a;continue}t+=l,n=!0,++a;continue;case"*":case"?":t+=l,n=!0,++a;continue;default:i(s&&cs(l)?`[${l.toLowerCase()}${l.toUpperCase()}]`:l),a+=l.length;continue}}return t},Va=e=>e.replace(/[.*+?^${}()|[\]\\]/g,"\\$&"),Ja=(e,t,r)=>{let n=[],s=0;for(;s<e.length;){if(n.push(e[s]),(t.get(e[s])??r)!==r){++s;continue}for(;++s<e.length&&(t.get(e[s])??r)===r;)t.get(n.at(-1))!==r&&(n[n.length-1]+=e[s])}return n},Ka=e=>e>=19968&&e<=40959||e>=13312&&e<=19903||e>=131072&&e<=173791||e>=173824&&e<=177983||e>=177984&&e<=178207||e>=178208&&e<=183983||e>=63744&&e<=64255||e>=194560&&e<=195103,Ya=e=>Number.isInteger(e)||typeof e=="bigint",Xa=e=>{let t=0;for(let r of e)++t;return t},Za=e=>fs(e.toLowerCase()),Y=(...e)=>Array.prototype.concat.apply([],e),wr=e=>new Map(Object.entries(e)),Qa=(e,t)=>{let r=[],n=0;for(let s of e.matchAll(t)){let o=s[0];n<s.index&&r.push(e.slice(n,s.index)),o.length>0&&r.push(o),n=s.index+o.length}return n<e.length&&r.push(e.slice(n)),r},fs=e=>e.replace(/\p{M}/gu,""),Xn=(e,t,r=[])=>{if(!e||Array.isArray(e)||typeof e!="object")return`${t} must be a valid object`;for(let n of r)if(!(n in e))return`${t} must contain a "${n}" property`;return null},e1=e=>e.match(/\S+/g)||[],t1=class{constructor(){let e=function(...t){return e._call(...t)};return Object.setPrototypeOf(e,new.target.prototype)}},Ft=t1,r1=class extends Ft{constructor(e){super(),this.config=e}_call(e){return this.normalize(e)}},Fe=r1,n1=class extends Fe{tokenize_chinese_chars(e){let t=[];for(let r=0;r<e.length;++r){let n=e[r],s=n.charCodeAt(0);Ka(s)?(t.push(" "),t.push(n),t.push(" ")):t.push(n)}return t.join("")}strip_accents(e){return e.normalize("NFD").replace(/\p{Mn}/gu,"")}is_control(e){switch(e){case"	":case`
`:case"\r":return!1;default:return/^\p{Cc}|\p{Cf}|\p{Co}|\p{Cs}$/u.test(e)}}clean_text(e){let t=[];for(let r of e){let n=r.charCodeAt(0);n===0||n===65533||this.is_control(r)||(/^\s$/.test(r)?t.push(" "):t.push(r))}return t.join("")}normalize(e){return this.config.clean_text&&(e=this.clean_text(e)),this.config.handle_chinese_chars&&(e=this.tokenize_chinese_chars(e)),this.config.lowercase?(e=e.toLowerCase(),this.config.strip_accents!==!1&&(e=this.strip_accents(e))):this.config.strip_accents&&(e=this.strip_accents(e)),e}},s1=n1,o1=class extends Fe{constructor(e){super(e),this.charsmap=e.precompiled_charsmap??null}normalize(e){return e=e.replace(/[\u0001-\u0008\u000B\u000E-\u001F\u007F\u008F\u009F]/gm,""),e=e.replace(/[\u0009\u000A\u000C\u000D\u00A0\u1680\u2000-\u200F\u2028\u2029\u202F\u205F\u2581\u3000\uFEFF\uFFFD]/gm," "),e.includes("\uFF5E")?e=e.split("\uFF5E").map(r=>r.normalize("NFKC")).join("\uFF5E"):e=e.normalize("NFKC"),e}},i1=o1,a1=class extends Fe{constructor(e){super(e),this.normalizers=(e.normalizers??[]).map(t=>ps(t))}normalize(e){return this.normalizers.reduce((t,r)=>r?r.normalize(t):t,e)}},l1=a1,c1=class extends Fe{constructor(e){super(e),this.pattern=Nt(this.config.pattern??{})}normalize(e){return this.pattern===null?e:e.replaceAll(this.pattern,this.config.content??"")}},u1=c1,F1=class extends Fe{constructor(){super(...arguments),this.form="NFC"}normalize(e){return e=e.normalize(this.form),e}},It=F1,d1=class extends It{constructor(){super(...arguments),this.form="NFC"}},f1=d1,p1=class extends It{constructor(){super(...arguments),this.form="NFD"}},A1=p1,h1=class extends It{constructor(){super(...arguments),this.form="NFKC"}},E1=h1,m1=class extends It{constructor(){super(...arguments),this.form="NFKD"}},C1=m1,B1=class extends Fe{normalize(e){return this.config.strip_left&&this.config.strip_right?e=e.trim():(this.config.strip_left&&(e=e.trimStart()),this.config.strip_right&&(e=e.trimEnd())),e}},g1=B1,L1=class extends Fe{normalize(e){return fs(e)}},w1=L1,y1=class extends Fe{normalize(e){return e.toLowerCase()}},D1=y1,M1=class extends Fe{normalize(e){return e=this.config.prepend+e,e}},b1=M1;function _1(e){if(e===null)return null;switch(e.type){case"BertNormalizer":return new s1(e);case"Precompiled":return new i1(e);case"Sequence":return new l1(e);case"Replace":return new u1(e);case"NFC":return new f1(e);case"NFD":return new A1(e);case"NFKC":return new E1(e);case"NFKD":return new C1(e);case"Strip":return new g1(e);case"StripAccents":return new w1(e);case"Lowercase":return new D1(e);case"Prepend":return new b1(e);default:throw new Error(`Unknown Normalizer type: ${e.type}`)}}var ps=_1,v1=class extends Ft{pre_tokenize(e,t){return(Array.isArray(e)?e.map(r=>this.pre_tokenize_text(r,t)):this.pre_tokenize_text(e,t)).flat()}_call(e,t){return this.pre_tokenize(e,t)}},X=v1,As=(()=>{let e=[...Array.from({length:94},(s,o)=>o+33),...Array.from({length:12},(s,o)=>o+161),...Array.from({length:82},(s,o)=>o+174)],t=e.slice(),r=0;for(let s=0;s<256;++s)e.includes(s)||(e.push(s),t.push(256+r),r+=1);let n=t.map(s=>String.fromCharCode(s));return Object.fromEntries(e.map((s,o)=>[s,n[o]]))})(),k1=e=>Object.fromEntries(Object.entries(e).map(([t,r])=>[r,t])),T1=k1(As),$t="\\p{P}\\u0021-\\u002F\\u003A-\\u0040\\u005B-\\u0060\\u007B-\\u007E",x1=class extends X{constructor(e){super(),this.config=e,this.add_prefix_space=this.config.add_prefix_space??!1,this.trim_offsets=this.config.trim_offsets??!1,this.use_regex=this.config.use_regex??!0,this.pattern=/'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu,this.byte_encoder=As,this.text_encoder=new TextEncoder}pre_tokenize_text(e,t){return this.add_prefix_space&&!e.startsWith(" ")&&(e=" "+e),(this.use_regex?e.match(this.pattern)||[]:[e]).map(n=>Array.from(this.text_encoder.encode(n),s=>this.byte_encoder[s]).join(""))}},P1=x1,R1=class extends X{pre_tokenize_text(e,t){return e.match(/\w+|[^\w\s]+/g)||[]}},S1=R1,O1=class extends X{constructor(e){super(),this.replacement=e.replacement??"\u2581",this.str_rep=e.str_rep||this.replacement,this.prepend_scheme=e.prepend_scheme??"always"}pre_tokenize_text(e,t){let{section_index:r=void 0}=t??{},n=e.replaceAll(" ",this.str_rep);return!n.startsWith(this.replacement)&&(this.prepend_scheme==="always"||this.prepend_scheme==="first"&&r===0)&&(n=this.str_rep+n),[n]}},$1=O1,N1=class extends X{constructor(e){super(),this.config=e,this.pattern=Nt(this.config.pattern??{},this.config.invert??!0)}pre_tokenize_text(e){return this.pattern===null?[]:this.config.invert?(e.match(this.pattern)||[]).filter(t=>t):this.config.behavior?.toLowerCase()==="removed"?e.split(this.pattern).filter(t=>t):Qa(e,this.pattern)}},I1=N1,U1=class extends X{constructor(e){super(),this.config=e,this.pattern=new RegExp(`[^${$t}]+|[${$t}]+`,"gu")}pre_tokenize_text(e){return e.match(this.pattern)||[]}},z1=U1,j1=class extends X{constructor(e){super(),this.config=e;let t=`[^\\d]+|\\d${this.config.individual_digits?"":"+"}`;this.pattern=new RegExp(t,"gu")}pre_tokenize_text(e){return e.match(this.pattern)||[]}},W1=j1,G1=class extends X{constructor(){super(),this.pattern=new RegExp(`[^\\s${$t}]+|[${$t}]`,"gu")}pre_tokenize_text(e,t){return e.trim().match(this.pattern)||[]}},q1=G1,H1=class extends X{constructor(e){super(),this.config=e,this.pattern=Nt(this.config.pattern??{}),this.content=this.config.content??""}pre_tokenize_text(e){return this.pattern===null?[e]:[e.replaceAll(this.pattern,this.config.content??"")]}},V1=H1,J1=class extends X{constructor(e){super(),this.tokenizers=(e.pretokenizers??[]).map(t=>hs(t))}pre_tokenize_text(e,t){return this.tokenizers.reduce((r,n)=>n?n.pre_tokenize(r,t):r,[e])}},K1=J1,Y1=class extends X{pre_tokenize_text(e){return e1(e)}},X1=Y1,Z1=class extends X{constructor(e){super(),this.config=e,this._length=e.length}pre_tokenize_text(e){let t=[];for(let r=0;r<e.length;r+=this._length)t.push(e.slice(r,r+this._length));return t}},Q1=Z1;function el(e){if(e===null)return null;switch(e.type){case"BertPreTokenizer":return new q1;case"Sequence":return new K1(e);case"Whitespace":return new S1;case"WhitespaceSplit":return new X1;case"Metaspace":return new $1(e);case"ByteLevel":return new P1(e);case"Split":return new I1(e);case"Punctuation":return new z1(e);case"Digits":return new W1(e);case"Replace":return new V1(e);case"FixedLength":return new Q1(e);default:throw new Error(`Unknown PreTokenizer type: ${e.type}`)}}var hs=el,tl=class extends Ft{constructor(e){super(),this.config=e,this.vocab=[],this.tokens_to_ids=new Map,this.unk_token_id=void 0,this.unk_token=void 0,this.end_of_word_suffix=void 0,this.fuse_unk=this.config.fuse_unk??!1}_call(e){let t=this.encode(e);return this.fuse_unk&&(t=Ja(t,this.tokens_to_ids,this.unk_token_id)),t}},Ut=tl,rl=class extends Ut{constructor(e){super(e),this.max_input_chars_per_word=100,this.tokens_to_ids=wr(e.vocab),this.unk_token_id=this.tokens_to_ids.get(e.unk_token),this.unk_token=e.unk_token,this.max_input_chars_per_word=e.max_input_chars_per_word??100,this.vocab=new Array(this.tokens_to_ids.size);for(let[t,r]of this.tokens_to_ids)this.vocab[r]=t}encode(e){let t=[];for(let r of e){let n=[...r];if(n.length>this.max_input_chars_per_word){t.push(this.unk_token);continue}let s=!1,o=0,i=[];for(;o<n.length;){let a=n.length,l=null;for(;o<a;){let c=n.slice(o,a).join("");if(o>0&&(c=this.config.continuing_subword_prefix+c),this.tokens_to_ids.has(c)){l=c;break}--a}if(l===null){s=!0;break}i.push(l),o=a}s?t.push(this.unk_token):t.push(...i)}return t}},Zn=rl,Qn=class Es{constructor(t,r){this.is_leaf=t,this.children=r}static default(){return new Es(!1,new Map)}},nl=class{constructor(){this.root=Qn.default()}extend(e){for(let t of e)this.push(t)}push(e){let t=this.root;for(let r of e){let n=t.children.get(r);n===void 0&&(n=Qn.default(),t.children.set(r,n)),t=n}t.is_leaf=!0}*common_prefix_search(e,t=0){let r=this.root;if(r===void 0)return;let n="";for(let s=t;s<e.length;++s){let o=e[s];if(n+=o,r=r.children.get(o),r===void 0)return;r.is_leaf&&(yield n)}}},sl=nl,Br=class ms{constructor(t,r,n,s,o){this.token_id=t,this.node_id=r,this.pos=n,this.length=s,this.score=o,this.prev=null,this.backtrace_score=0}clone(){let t=new ms(this.token_id,this.node_id,this.pos,this.length,this.score);return t.prev=this.prev,t.backtrace_score=this.backtrace_score,t}},ol=class{constructor(e,t,r){this.chars=Array.from(e),this.len=this.chars.length,this.bos_token_id=t,this.eos_token_id=r,this.nodes=[],this.begin_nodes=Array.from({length:this.len+1},()=>[]),this.end_nodes=Array.from({length:this.len+1},()=>[]);let n=new Br(this.bos_token_id??0,0,0,0,0),s=new Br(this.eos_token_id??0,1,this.len,0,0);this.nodes.push(n.clone()),this.nodes.push(s.clone()),this.begin_nodes[this.len].push(s),this.end_nodes[0].push(n)}insert(e,t,r,n){let s=this.nodes.length,o=new Br(n,s,e,t,r);this.begin_nodes[e].push(o),this.end_nodes[e+t].push(o),this.nodes.push(o)}viterbi(){let e=this.len,t=0;for(;t<=e;){if(this.begin_nodes[t].length==0)return[];for(let i of this.begin_nodes[t]){i.prev=null;let a=0,l=null;for(let c of this.end_nodes[t]){let F=c.backtrace_score+i.score;(l===null||F>a)&&(l=c.clone(),a=F)}if(l!==null)i.prev=l,i.backtrace_score=a;else return[]}++t}let r=[],s=this.begin_nodes[e][0].prev;if(s===null)return[];let o=s.clone();for(;o.prev!==null;)r.push(o.clone()),o=o.clone().prev.clone();return r.reverse(),r}piece(e){return this.chars.slice(e.pos,e.pos+e.length).join("")}tokens(){return this.viterbi().map(t=>this.piece(t))}token_ids(){return this.viterbi().map(t=>t.token_id)}},il=ol;function al(e){if(e.length===0)throw new Error("Array must not be empty");let t=e[0],r=0;for(let n=1;n<e.length;++n)e[n]<t&&(t=e[n],r=n);return[t,r]}var ll=class extends Ut{constructor(e,t){super(e);let r=e.vocab.length;this.vocab=new Array(r),this.scores=new Array(r);for(let n=0;n<r;++n)[this.vocab[n],this.scores[n]]=e.vocab[n];this.unk_token_id=e.unk_id,this.unk_token=this.vocab[e.unk_id],this.tokens_to_ids=new Map(this.vocab.map((n,s)=>[n,s])),this.bos_token=" ",this.bos_token_id=this.tokens_to_ids.get(this.bos_token),this.eos_token=t,this.eos_token_id=this.tokens_to_ids.get(this.eos_token),this.unk_token=this.vocab[this.unk_token_id],this.min_score=al(this.scores)[0],this.unk_score=this.min_score-10,this.scores[this.unk_token_id]=this.unk_score,this.trie=new sl,this.trie.extend(this.vocab),this.fuse_unk=!0}populate_nodes(e){let t=e.chars,r=1,n=0;for(;n<t.length;){let s=!1,o=this.trie.common_prefix_search(t,n);for(let i of o){let a=this.tokens_to_ids.get(i),l=this.scores[a],c=Xa(i);e.insert(n,c,l,a),!s&&c===r&&(s=!0)}s||e.insert(n,r,this.unk_score,this.unk_token_id),n+=r}}tokenize(e){let t=new il(e,this.bos_token_id,this.eos_token_id);return this.populate_nodes(t),t.tokens()}encode(e){let t=[];for(let r of e){let n=this.tokenize(r);t.push(...n)}return t}},es=ll,cl=class{constructor(e=(r,n)=>r>n,t=1/0){this._heap=[],this._comparator=e,this._max_size=t}get size(){return this._heap.length}is_empty(){return this.size===0}peek(){return this._heap[0]}push(...e){return this.extend(e)}extend(e){for(let t of e)if(this.size<this._max_size)this._heap.push(t),this._sift_up();else{let r=this._smallest();this._comparator(t,this._heap[r])&&(this._heap[r]=t,this._sift_up_from(r))}return this.size}pop(){let e=this.peek(),t=this.size-1;return t>0&&this._swap(0,t),this._heap.pop(),this._sift_down(),e}replace(e){let t=this.peek();return this._heap[0]=e,this._sift_down(),t}_parent(e){return(e+1>>>1)-1}_left(e){return(e<<1)+1}_right(e){return e+1<<1}_greater(e,t){return this._comparator(this._heap[e],this._heap[t])}_swap(e,t){let r=this._heap[e];this._heap[e]=this._heap[t],this._heap[t]=r}_sift_up(){this._sift_up_from(this.size-1)}_sift_up_from(e){for(;e>0&&this._greater(e,this._parent(e));)this._swap(e,this._parent(e)),e=this._parent(e)}_sift_down(){let e=0;for(;this._left(e)<this.size&&this._greater(this._left(e),e)||this._right(e)<this.size&&this._greater(this._right(e),e);){let t=this._right(e)<this.size&&this._greater(this._right(e),this._left(e))?this._right(e):this._left(e);this._swap(e,t),e=t}}_smallest(){return 2**Math.floor(Math.log2(this.size))-1}},ul=cl,Fl=class{constructor(e){this.capacity=e,this.cache=new Map}get(e){if(!this.cache.has(e))return;let t=this.cache.get(e);return this.cache.delete(e),this.cache.set(e,t),t}put(e,t){this.cache.has(e)&&this.cache.delete(e),this.cache.set(e,t),this.cache.size>this.capacity&&this.cache.delete(this.cache.keys().next().value)}clear(){this.cache.clear()}},dl=Fl,fl=class extends Ut{constructor(e){super(e),this.tokens_to_ids=wr(e.vocab),this.unk_token_id=this.tokens_to_ids.get(e.unk_token),this.unk_token=e.unk_token,this.vocab=new Array(this.tokens_to_ids.size);for(let[r,n]of this.tokens_to_ids)this.vocab[n]=r;let t=Array.isArray(e.merges[0]);this.merges=t?e.merges:e.merges.map(r=>r.split(" ",2)),this.bpe_ranks=new Map(this.merges.map((r,n)=>[JSON.stringify(r),n])),this.end_of_word_suffix=e.end_of_word_suffix,this.continuing_subword_suffix=e.continuing_subword_suffix??null,this.byte_fallback=this.config.byte_fallback??!1,this.byte_fallback&&(this.text_encoder=new TextEncoder),this.ignore_merges=this.config.ignore_merges??!1,this.max_length_to_cache=256,this.cache_capacity=1e4,this.cache=new dl(this.cache_capacity)}clear_cache(){this.cache.clear()}bpe(e){if(e.length===0)return[];let t=this.cache.get(e);if(t!==void 0)return t;let r=Array.from(e);this.end_of_word_suffix&&(r[r.length-1]+=this.end_of_word_suffix);let n=[];if(r.length>1){let s=new ul((a,l)=>a.score<l.score),o={token:r[0],bias:0,prev:null,next:null},i=o;for(let a=1;a<r.length;++a){let l={bias:a/r.length,token:r[a],prev:i,next:null};i.next=l,this.add_node(s,i),i=l}for(;!s.is_empty();){let a=s.pop();if(a.deleted||!a.next||a.next.deleted)continue;if(a.deleted=!0,a.next.deleted=!0,a.prev){let c={...a.prev};a.prev.deleted=!0,a.prev=c,c.prev?c.prev.next=c:o=c}let l={token:a.token+a.next.token,bias:a.bias,prev:a.prev,next:a.next.next};l.prev?(l.prev.next=l,this.add_node(s,l.prev)):o=l,l.next&&(l.next.prev=l,this.add_node(s,l))}for(let a=o;a!==null;a=a.next)n.push(a.token)}else n=r;if(this.continuing_subword_suffix)for(let s=0;s<n.length-1;++s)n[s]+=this.continuing_subword_suffix;return e.length<this.max_length_to_cache&&this.cache.put(e,n),n}add_node(e,t){let r=this.bpe_ranks.get(JSON.stringify([t.token,t.next.token]));r!==void 0&&(t.score=r+t.bias,e.push(t))}encode(e){let t=[];for(let r of e){if(this.ignore_merges&&this.tokens_to_ids.has(r)){t.push(r);continue}let n=this.bpe(r);for(let s of n)if(this.tokens_to_ids.has(s))t.push(s);else if(this.byte_fallback){let o=Array.from(this.text_encoder.encode(s)).map(i=>`<0x${i.toString(16).toUpperCase().padStart(2,"0")}>`);o.every(i=>this.tokens_to_ids.has(i))?t.push(...o):this.unk_token!=null&&t.push(this.unk_token)}else this.unk_token!=null&&t.push(this.unk_token)}return t}},ts=fl,pl=class extends Ut{constructor(e,t){super(e);let r=e.vocab;this.tokens_to_ids=wr(t.target_lang?r[t.target_lang]:r),this.bos_token=t.bos_token,this.bos_token_id=this.tokens_to_ids.get(this.bos_token),this.eos_token=t.eos_token,this.eos_token_id=this.tokens_to_ids.get(this.eos_token),this.pad_token=t.pad_token,this.pad_token_id=this.tokens_to_ids.get(this.pad_token),this.unk_token=t.unk_token,this.unk_token_id=this.tokens_to_ids.get(this.unk_token),this.vocab=new Array(this.tokens_to_ids.size);for(let[n,s]of this.tokens_to_ids)this.vocab[s]=n}encode(e){return e}},Al=pl;function hl(e,t){switch(e.type){case"WordPiece":return new Zn(e);case"Unigram":return new es(e,t.eos_token);case"BPE":return new ts(e);default:if(e.vocab)return Array.isArray(e.vocab)?new es(e,t.eos_token):Object.hasOwn(e,"continuing_subword_prefix")&&Object.hasOwn(e,"unk_token")?Object.hasOwn(e,"merges")?new ts(e):new Zn(e):new Al(e,{target_lang:t.target_lang,bos_token:t.bos_token,eos_token:t.eos_token,pad_token:t.pad_token,unk_token:t.unk_token});throw new Error(`Unknown TokenizerModel type: ${e?.type}`)}}var El=hl,ml=class extends Ft{constructor(e){super(),this.config=e}_call(e,...t){return this.post_process(e,...t)}},dt=ml,Cl=class extends dt{post_process(e,t=null,r=!0){let n=t===null?this.config.single:this.config.pair,s=[],o=[];for(let i of n)"SpecialToken"in i?r&&(s.push(i.SpecialToken.id),o.push(i.SpecialToken.type_id)):"Sequence"in i&&(i.Sequence.id==="A"?(s=Y(s,e),o=Y(o,new Array(e.length).fill(i.Sequence.type_id))):i.Sequence.id==="B"&&(s=Y(s,t),o=Y(o,new Array(t.length).fill(i.Sequence.type_id))));return{tokens:s,token_type_ids:o}}},Bl=Cl,gl=class extends dt{post_process(e,t=null){return{tokens:e,tokens_pair:t}}},Ll=gl,wl=class extends dt{constructor(e){super(e),this.sep=e.sep,this.cls=e.cls}post_process(e,t=null,r=!0){r&&(e=Y([this.cls[0]],e,[this.sep[0]]));let n=new Array(e.length).fill(0);if(t){let s=[],o=r?[this.sep[0]]:[];e=Y(e,s,t,o),n=Y(n,new Array(t.length+s.length+o.length).fill(1))}return{tokens:e,token_type_ids:n}}},yl=wl,Dl=class extends dt{constructor(e){super(e),this.sep=e.sep,this.cls=e.cls}post_process(e,t,r=!0){r&&(e=Y([this.cls[0]],e,[this.sep[0]]));let n=new Array(e.length).fill(0);if(t){let s=r?[this.sep[0]]:[],o=r?[this.sep[0]]:[];e=Y(e,s,t,o),n=Y(n,new Array(t.length+s.length+o.length).fill(1))}return{tokens:e,token_type_ids:n}}},Ml=Dl,bl=class extends dt{constructor(e){super(e),this.processors=(e.processors??[]).map(t=>Cs(t))}post_process(e,t=null,r=!0){let n={tokens:e,tokens_pair:t};for(let s of this.processors)n=s.post_process(n.tokens,n.tokens_pair,r);return n}},_l=bl;function vl(e){if(e===null)return null;switch(e.type){case"TemplateProcessing":return new Bl(e);case"ByteLevel":return new Ll(e);case"BertProcessing":return new yl(e);case"RobertaProcessing":return new Ml(e);case"Sequence":return new _l(e);default:throw new Error(`Unknown PostProcessor type: ${e.type}`)}}var Cs=vl,kl=class extends Ft{constructor(e){super(),this.config=e,this.added_tokens=[],this.end_of_word_suffix=null,this.trim_offsets="trim_offsets"in e?e.trim_offsets:!1}_call(e){return this.decode(e)}decode(e){return this.decode_chain(e).join("")}},oe=kl,Tl=class extends oe{constructor(e){super(e),this.byte_decoder=T1,this.text_decoder=new TextDecoder("utf-8",{fatal:!1,ignoreBOM:!0}),this.end_of_word_suffix=null}convert_tokens_to_string(e){let t=e.join(""),r=new Uint8Array([...t].map(n=>this.byte_decoder[n]));return this.text_decoder.decode(r)}decode_chain(e){let t=[],r=[];for(let n of e)this.added_tokens.find(s=>s.content===n)!==void 0?(r.length>0&&(t.push(this.convert_tokens_to_string(r)),r=[]),t.push(n)):r.push(n);return r.length>0&&t.push(this.convert_tokens_to_string(r)),t}},xl=Tl,Pl=class extends oe{constructor(e){super(e),this.cleanup=e.cleanup}decode_chain(e){return e.map((t,r)=>{if(r!==0){let n=this.config.prefix;n&&t.startsWith(n)?t=t.replace(n,""):t=" "+t}return this.cleanup&&(t=gr(t)),t})}},Rl=Pl,Sl=class extends oe{constructor(e){super(e),this.replacement=e.replacement??"\u2581"}decode_chain(e){let t=[];for(let r=0;r<e.length;++r){let n=e[r].replaceAll(this.replacement," ");r==0&&n.startsWith(" ")&&(n=n.substring(1)),t.push(n)}return t}},Ol=Sl,$l=class extends oe{constructor(e){super(e),this.suffix=e.suffix??""}decode_chain(e){return e.map((t,r)=>t.replaceAll(this.suffix,r===e.length-1?"":" "))}},Nl=$l,Il=class extends oe{constructor(e){super(e),this.pad_token=e.pad_token??"",this.word_delimiter_token=e.word_delimiter_token??"",this.cleanup=e.cleanup}convert_tokens_to_string(e){if(e.length===0)return"";let t=[e[0]];for(let s=1;s<e.length;++s)e[s]!==t.at(-1)&&t.push(e[s]);let n=t.filter(s=>s!==this.pad_token).join("");return this.cleanup&&(n=gr(n).replaceAll(this.word_delimiter_token," ").trim()),n}decode_chain(e){return[this.convert_tokens_to_string(e)]}},Ul=Il,zl=class extends oe{constructor(e){super(e),this.decoders=(e.decoders??[]).map(t=>Bs(t))}decode_chain(e){return this.decoders.reduce((t,r)=>r.decode_chain(t),e)}},jl=zl,Wl=class extends oe{constructor(e){super(e),this.pattern=Nt(this.config.pattern)}decode_chain(e){let t=this.config.content??"",r=this.pattern;return r===null?e:e.map(n=>n.replaceAll(r,t))}},Gl=Wl,ql=class extends oe{decode_chain(e){return[e.join("")]}},Hl=ql,Vl=class extends oe{constructor(e){super(e),this.content=e.content??"",this.start=e.start??0,this.stop=e.stop??0}decode_chain(e){return e.map(t=>{let r=0;for(let s=0;s<this.start&&t[s]===this.content;++s){r=s+1;continue}let n=t.length;for(let s=0;s<this.stop;++s){let o=t.length-s-1;if(t[o]===this.content){n=o;continue}else break}return t.slice(r,n)})}},Jl=Vl,Kl=class extends oe{constructor(e){super(e),this.text_decoder=new TextDecoder}decode_chain(e){let t=[],r=[];for(let n of e){let s=null;if(n.length===6&&n.startsWith("<0x")&&n.endsWith(">")){let o=parseInt(n.slice(3,5),16);isNaN(o)||(s=o)}if(s!==null)r.push(s);else{if(r.length>0){let o=this.text_decoder.decode(Uint8Array.from(r));t.push(o),r=[]}t.push(n)}}if(r.length>0){let n=this.text_decoder.decode(Uint8Array.from(r));t.push(n),r=[]}return t}},Yl=Kl;function Xl(e){if(e===null)return null;switch(e.type){case"ByteLevel":return new xl(e);case"WordPiece":return new Rl(e);case"Metaspace":return new Ol(e);case"BPEDecoder":return new Nl(e);case"CTC":return new Ul(e);case"Sequence":return new jl(e);case"Replace":return new Gl(e);case"Fuse":return new Hl(e);case"Strip":return new Jl(e);case"ByteFallback":return new Yl(e);default:throw new Error(`Unknown Decoder type: ${e.type}`)}}var Bs=Xl,Zl=class{constructor(e,t){let r=Xn(e,"Tokenizer",["model","decoder","post_processor","pre_tokenizer","normalizer"]);if(r)throw new Error(r);let n=Xn(t,"Config");if(n)throw new Error(n);this.tokenizer=e,this.config=t,this.normalizer=ps(this.tokenizer.normalizer),this.pre_tokenizer=hs(this.tokenizer.pre_tokenizer),this.model=El(this.tokenizer.model,this.config),this.post_processor=Cs(this.tokenizer.post_processor),this.decoder=Bs(this.tokenizer.decoder),this.special_tokens=[],this.all_special_ids=[],this.added_tokens=[];let s=[],o=[];this.added_tokens_map=new Map;for(let i of this.tokenizer.added_tokens){let a=new va(i);if(this.added_tokens.push(a),this.model.tokens_to_ids.set(a.content,a.id),this.model.vocab[a.id]=a.content,a.special&&(this.special_tokens.push(a.content),this.all_special_ids.push(a.id)),this.added_tokens_map.set(a.content,a),a.normalized&&this.normalizer!==null){let l=this.normalizer(a.content);o.push(l),this.added_tokens_map.set(l,a)}else s.push(a.content)}(this.config.additional_special_tokens??[]).forEach(i=>{this.special_tokens.includes(i)||this.special_tokens.push(i)}),this.decoder&&(this.decoder.added_tokens=this.added_tokens,this.decoder.end_of_word_suffix=this.model.end_of_word_suffix),this.splitter_unnormalized=new Hn(s),this.splitter_normalized=new Hn(o),this.remove_space=this.config.remove_space,this.clean_up_tokenization_spaces=this.config.clean_up_tokenization_spaces??!0,this.do_lowercase_and_remove_accent=this.config.do_lowercase_and_remove_accent??!1}encode(e,{text_pair:t=null,add_special_tokens:r=!0,return_token_type_ids:n=null}={}){let{tokens:s,token_type_ids:o}=this.tokenize_helper(e,{text_pair:t,add_special_tokens:r}),i=s.map(l=>this.added_tokens_map.get(l)?.id??this.model.tokens_to_ids.get(l)??this.model.unk_token_id),a={ids:i,tokens:s,attention_mask:new Array(i.length).fill(1)};return n&&o&&(a.token_type_ids=o),a}decode(e,t={}){if(!Array.isArray(e)||e.length===0||!Ya(e[0]))throw Error("token_ids must be a non-empty array of integers.");let r=e.map(s=>this.model.vocab[Number(s)]??this.model.unk_token);t.skip_special_tokens&&(r=r.filter(s=>!this.special_tokens.includes(s)));let n=this.decoder?this.decoder(r):r.join(" ");return this.decoder&&this.decoder.end_of_word_suffix&&(n=n.replaceAll(this.decoder.end_of_word_suffix," "),t.skip_special_tokens&&(n=n.trim())),(t.clean_up_tokenization_spaces??this.clean_up_tokenization_spaces)&&(n=gr(n)),n}tokenize(e,{text_pair:t=null,add_special_tokens:r=!1}={}){return this.tokenize_helper(e,{text_pair:t,add_special_tokens:r}).tokens}encode_text(e){if(e===null)return null;let t=this.splitter_unnormalized.split(e);return t.forEach((r,n)=>{let s=this.added_tokens_map.get(r);s&&(s.lstrip&&n>0&&(t[n-1]=t[n-1].trimEnd()),s.rstrip&&n<t.length-1&&(t[n+1]=t[n+1].trimStart()))}),t.flatMap((r,n)=>{if(r.length===0)return[];if(this.added_tokens_map.has(r))return[r];if(this.remove_space===!0&&(r=r.trim().split(/\s+/).join(" ")),this.do_lowercase_and_remove_accent&&(r=Za(r)),this.normalizer!==null&&(r=this.normalizer(r)),r.length===0)return[];let s=this.splitter_normalized.split(r);return s.forEach((o,i)=>{let a=this.added_tokens_map.get(o);a&&(a.lstrip&&i>0&&(s[i-1]=s[i-1].trimEnd()),a.rstrip&&i<s.length-1&&(s[i+1]=s[i+1].trimStart()))}),s.flatMap(o=>{if(o.length===0)return[];if(this.added_tokens_map.has(o))return[o];let i=this.pre_tokenizer!==null?this.pre_tokenizer(o,{section_index:n}):[o];return this.model(i)})})}tokenize_helper(e,{text_pair:t=null,add_special_tokens:r=!0}){let n=this.encode_text(e),s=this.encode_text(t||null);return this.post_processor?this.post_processor(n,s,r):{tokens:Y(n??[],s??[])}}token_to_id(e){return this.model.tokens_to_ids.get(e)}id_to_token(e){return this.model.vocab[e]}get_added_tokens_decoder(){let e=new Map;for(let t of this.added_tokens)e.set(t.id,t);return e}get_vocab(e=!0){let t=new Map;for(let r=0;r<this.model.vocab.length;++r){let n=this.model.vocab[r];(e||!this.added_tokens_map.has(n))&&t.set(n,r)}return t}},gs=Zl;var Ls=`# Made by \`python -m android_bench.build_app.unicode_table\`; see there for the format.
D 0 8
D B C
D E 1F
D 7F 9F
D AD AD
D 600 605
D 61C 61C
D 6DD 6DD
D 70F 70F
D 180E 180E
D 200B 200F
D 202A 202E
D 2060 2064
D 2066 206F
D E000 F8FF
D FEFF FEFF
D FFF9 FFFB
D FFFD FFFD
D 110BD 110BD
D 1BCA0 1BCA3
D 1D173 1D17A
D E0001 E0001
D E0020 E007F
D F0000 FFFFD
D 100000 10FFFD
A 300 36F
A 483 487
A 591 5BD
A 5BF 5BF
A 5C1 5C2
A 5C4 5C5
A 5C7 5C7
A 610 61A
A 64B 65F
A 670 670
A 6D6 6DC
A 6DF 6E4
A 6E7 6E8
A 6EA 6ED
A 711 711
A 730 74A
A 7A6 7B0
A 7EB 7F3
A 816 819
A 81B 823
A 825 827
A 829 82D
A 859 85B
A 8E3 902
A 93A 93A
A 93C 93C
A 941 948
A 94D 94D
A 951 957
A 962 963
A 981 981
A 9BC 9BC
A 9C1 9C4
A 9CD 9CD
A 9E2 9E3
A A01 A02
A A3C A3C
A A41 A42
A A47 A48
A A4B A4D
A A51 A51
A A70 A71
A A75 A75
A A81 A82
A ABC ABC
A AC1 AC5
A AC7 AC8
A ACD ACD
A AE2 AE3
A B01 B01
A B3C B3C
A B3F B3F
A B41 B44
A B4D B4D
A B56 B56
A B62 B63
A B82 B82
A BC0 BC0
A BCD BCD
A C00 C00
A C3E C40
A C46 C48
A C4A C4D
A C55 C56
A C62 C63
A C81 C81
A CBC CBC
A CBF CBF
A CC6 CC6
A CCC CCD
A CE2 CE3
A D01 D01
A D41 D44
A D4D D4D
A D62 D63
A DCA DCA
A DD2 DD4
A DD6 DD6
A E31 E31
A E34 E3A
A E47 E4E
A EB1 EB1
A EB4 EB9
A EBB EBC
A EC8 ECD
A F18 F19
A F35 F35
A F37 F37
A F39 F39
A F71 F7E
A F80 F84
A F86 F87
A F8D F97
A F99 FBC
A FC6 FC6
A 102D 1030
A 1032 1037
A 1039 103A
A 103D 103E
A 1058 1059
A 105E 1060
A 1071 1074
A 1082 1082
A 1085 1086
A 108D 108D
A 109D 109D
A 135D 135F
A 1712 1714
A 1732 1734
A 1752 1753
A 1772 1773
A 17B4 17B5
A 17B7 17BD
A 17C6 17C6
A 17C9 17D3
A 17DD 17DD
A 180B 180D
A 18A9 18A9
A 1920 1922
A 1927 1928
A 1932 1932
A 1939 193B
A 1A17 1A18
A 1A1B 1A1B
A 1A56 1A56
A 1A58 1A5E
A 1A60 1A60
A 1A62 1A62
A 1A65 1A6C
A 1A73 1A7C
A 1A7F 1A7F
A 1AB0 1ABD
A 1B00 1B03
A 1B34 1B34
A 1B36 1B3A
A 1B3C 1B3C
A 1B42 1B42
A 1B6B 1B73
A 1B80 1B81
A 1BA2 1BA5
A 1BA8 1BA9
A 1BAB 1BAD
A 1BE6 1BE6
A 1BE8 1BE9
A 1BED 1BED
A 1BEF 1BF1
A 1C2C 1C33
A 1C36 1C37
A 1CD0 1CD2
A 1CD4 1CE0
A 1CE2 1CE8
A 1CED 1CED
A 1CF4 1CF4
A 1CF8 1CF9
A 1DC0 1DF5
A 1DFC 1DFF
A 20D0 20DC
A 20E1 20E1
A 20E5 20F0
A 2CEF 2CF1
A 2D7F 2D7F
A 2DE0 2DFF
A 302A 302D
A 3099 309A
A A66F A66F
A A674 A67D
A A69E A69F
A A6F0 A6F1
A A802 A802
A A806 A806
A A80B A80B
A A825 A826
A A8C4 A8C4
A A8E0 A8F1
A A926 A92D
A A947 A951
A A980 A982
A A9B3 A9B3
A A9B6 A9B9
A A9BC A9BC
A A9E5 A9E5
A AA29 AA2E
A AA31 AA32
A AA35 AA36
A AA43 AA43
A AA4C AA4C
A AA7C AA7C
A AAB0 AAB0
A AAB2 AAB4
A AAB7 AAB8
A AABE AABF
A AAC1 AAC1
A AAEC AAED
A AAF6 AAF6
A ABE5 ABE5
A ABE8 ABE8
A ABED ABED
A FB1E FB1E
A FE00 FE0F
A FE20 FE2F
A 101FD 101FD
A 102E0 102E0
A 10376 1037A
A 10A01 10A03
A 10A05 10A06
A 10A0C 10A0F
A 10A38 10A3A
A 10A3F 10A3F
A 10AE5 10AE6
A 11001 11001
A 11038 11046
A 1107F 11081
A 110B3 110B6
A 110B9 110BA
A 11100 11102
A 11127 1112B
A 1112D 11134
A 11173 11173
A 11180 11181
A 111B6 111BE
A 111CA 111CC
A 1122F 11231
A 11234 11234
A 11236 11237
A 112DF 112DF
A 112E3 112EA
A 11300 11301
A 1133C 1133C
A 11340 11340
A 11366 1136C
A 11370 11374
A 114B3 114B8
A 114BA 114BA
A 114BF 114C0
A 114C2 114C3
A 115B2 115B5
A 115BC 115BD
A 115BF 115C0
A 115DC 115DD
A 11633 1163A
A 1163D 1163D
A 1163F 11640
A 116AB 116AB
A 116AD 116AD
A 116B0 116B5
A 116B7 116B7
A 1171D 1171F
A 11722 11725
A 11727 1172B
A 16AF0 16AF4
A 16B30 16B36
A 16F8F 16F92
A 1BC9D 1BC9E
A 1D167 1D169
A 1D17B 1D182
A 1D185 1D18B
A 1D1AA 1D1AD
A 1D242 1D244
A 1DA00 1DA36
A 1DA3B 1DA6C
A 1DA75 1DA75
A 1DA84 1DA84
A 1DA9B 1DA9F
A 1DAA1 1DAAF
A 1E8D0 1E8D6
A E0100 E01EF
S 9 A
S D D
S 20 20
S A0 A0
S 1680 1680
S 2000 200A
S 2028 2029
S 202F 202F
S 205F 205F
S 3000 3000
C 3400 4DBF
C 4E00 9FFF
C F900 FAFF
C 20000 2A6DF
C 2A700 2B81F
C 2B920 2CEAF
C 2F800 2FA1F
P 21 2F
P 3A 40
P 5B 60
P 7B 7E
P A1 A1
P A7 A7
P AB AB
P B6 B7
P BB BB
P BF BF
P 37E 37E
P 387 387
P 55A 55F
P 589 58A
P 5BE 5BE
P 5C0 5C0
P 5C3 5C3
P 5C6 5C6
P 5F3 5F4
P 609 60A
P 60C 60D
P 61B 61B
P 61E 61F
P 66A 66D
P 6D4 6D4
P 700 70D
P 7F7 7F9
P 830 83E
P 85E 85E
P 964 965
P 970 970
P AF0 AF0
P DF4 DF4
P E4F E4F
P E5A E5B
P F04 F12
P F14 F14
P F3A F3D
P F85 F85
P FD0 FD4
P FD9 FDA
P 104A 104F
P 10FB 10FB
P 1360 1368
P 1400 1400
P 166D 166E
P 169B 169C
P 16EB 16ED
P 1735 1736
P 17D4 17D6
P 17D8 17DA
P 1800 180A
P 1944 1945
P 1A1E 1A1F
P 1AA0 1AA6
P 1AA8 1AAD
P 1B5A 1B60
P 1BFC 1BFF
P 1C3B 1C3F
P 1C7E 1C7F
P 1CC0 1CC7
P 1CD3 1CD3
P 2010 2027
P 2030 2043
P 2045 2051
P 2053 205E
P 207D 207E
P 208D 208E
P 2308 230B
P 2329 232A
P 2768 2775
P 27C5 27C6
P 27E6 27EF
P 2983 2998
P 29D8 29DB
P 29FC 29FD
P 2CF9 2CFC
P 2CFE 2CFF
P 2D70 2D70
P 2E00 2E2E
P 2E30 2E42
P 3001 3003
P 3008 3011
P 3014 301F
P 3030 3030
P 303D 303D
P 30A0 30A0
P 30FB 30FB
P A4FE A4FF
P A60D A60F
P A673 A673
P A67E A67E
P A6F2 A6F7
P A874 A877
P A8CE A8CF
P A8F8 A8FA
P A8FC A8FC
P A92E A92F
P A95F A95F
P A9C1 A9CD
P A9DE A9DF
P AA5C AA5F
P AADE AADF
P AAF0 AAF1
P ABEB ABEB
P FD3E FD3F
P FE10 FE19
P FE30 FE52
P FE54 FE61
P FE63 FE63
P FE68 FE68
P FE6A FE6B
P FF01 FF03
P FF05 FF0A
P FF0C FF0F
P FF1A FF1B
P FF1F FF20
P FF3B FF3D
P FF3F FF3F
P FF5B FF5B
P FF5D FF5D
P FF5F FF65
P 10100 10102
P 1039F 1039F
P 103D0 103D0
P 1056F 1056F
P 10857 10857
P 1091F 1091F
P 1093F 1093F
P 10A50 10A58
P 10A7F 10A7F
P 10AF0 10AF6
P 10B39 10B3F
P 10B99 10B9C
P 11047 1104D
P 110BB 110BC
P 110BE 110C1
P 11140 11143
P 11174 11175
P 111C5 111C9
P 111CD 111CD
P 111DB 111DB
P 111DD 111DF
P 11238 1123D
P 112A9 112A9
P 114C6 114C6
P 115C1 115D7
P 11641 11643
P 1173C 1173E
P 12470 12474
P 16A6E 16A6F
P 16AF5 16AF5
P 16B37 16B3B
P 16B44 16B44
P 1BC9F 1BC9F
P 1DA87 1DA8B
M 9CB 9CB 9C7 9BE
M 9CC 9CC 9C7 9D7
M B4B B4B B47 B3E
M B4C B4C B47 B57
M B94 B94 B92 BD7
M BCA BCA BC6 BBE
M BCB BCB BC7 BBE
M BCC BCC BC6 BD7
M CCB CCB CC2 CD5
M D4A D4A D46 D3E
M D4B D4B D47 D3E
M D4C D4C D46 D57
M DDC DDD DD9 DCF
M DDE DDE DD9 DDF
M 1B06 1B06 1B05 1B35
M 1B08 1B08 1B07 1B35
M 1B0A 1B0A 1B09 1B35
M 1B0C 1B0C 1B0B 1B35
M 1B0E 1B0E 1B0D 1B35
M 1B12 1B12 1B11 1B35
M 1B40 1B40 1B3E 1B35
M 1B41 1B41 1B3F 1B35
M F900 F900 8C48
M F901 F901 66F4
M F902 F902 8ECA
M F903 F903 8CC8
M F904 F904 6ED1
M F905 F905 4E32
M F906 F906 53E5
M F907 F908 9F9C
M F909 F909 5951
M F90A F90A 91D1
M F90B F90B 5587
M F90C F90C 5948
M F90D F90D 61F6
M F90E F90E 7669
M F90F F90F 7F85
M F910 F910 863F
M F911 F911 87BA
M F912 F912 88F8
M F913 F913 908F
M F914 F914 6A02
M F915 F915 6D1B
M F916 F916 70D9
M F917 F917 73DE
M F918 F918 843D
M F919 F919 916A
M F91A F91A 99F1
M F91B F91B 4E82
M F91C F91C 5375
M F91D F91D 6B04
M F91E F91E 721B
M F91F F91F 862D
M F920 F920 9E1E
M F921 F921 5D50
M F922 F922 6FEB
M F923 F923 85CD
M F924 F924 8964
M F925 F925 62C9
M F926 F926 81D8
M F927 F927 881F
M F928 F928 5ECA
M F929 F929 6717
M F92A F92A 6D6A
M F92B F92B 72FC
M F92C F92C 90CE
M F92D F92D 4F86
M F92E F92E 51B7
M F92F F92F 52DE
M F930 F930 64C4
M F931 F931 6AD3
M F932 F932 7210
M F933 F933 76E7
M F934 F934 8001
M F935 F935 8606
M F936 F936 865C
M F937 F937 8DEF
M F938 F938 9732
M F939 F939 9B6F
M F93A F93A 9DFA
M F93B F93B 788C
M F93C F93C 797F
M F93D F93D 7DA0
M F93E F93E 83C9
M F93F F93F 9304
M F940 F940 9E7F
M F941 F941 8AD6
M F942 F942 58DF
M F943 F943 5F04
M F944 F944 7C60
M F945 F945 807E
M F946 F946 7262
M F947 F947 78CA
M F948 F948 8CC2
M F949 F949 96F7
M F94A F94A 58D8
M F94B F94B 5C62
M F94C F94C 6A13
M F94D F94D 6DDA
M F94E F94E 6F0F
M F94F F94F 7D2F
M F950 F950 7E37
M F951 F951 964B
M F952 F952 52D2
M F953 F953 808B
M F954 F954 51DC
M F955 F955 51CC
M F956 F956 7A1C
M F957 F957 7DBE
M F958 F958 83F1
M F959 F959 9675
M F95A F95A 8B80
M F95B F95B 62CF
M F95C F95C 6A02
M F95D F95D 8AFE
M F95E F95E 4E39
M F95F F95F 5BE7
M F960 F960 6012
M F961 F961 7387
M F962 F962 7570
M F963 F963 5317
M F964 F964 78FB
M F965 F965 4FBF
M F966 F966 5FA9
M F967 F967 4E0D
M F968 F968 6CCC
M F969 F969 6578
M F96A F96A 7D22
M F96B F96B 53C3
M F96C F96C 585E
M F96D F96D 7701
M F96E F96E 8449
M F96F F96F 8AAA
M F970 F970 6BBA
M F971 F971 8FB0
M F972 F972 6C88
M F973 F973 62FE
M F974 F974 82E5
M F975 F975 63A0
M F976 F976 7565
M F977 F977 4EAE
M F978 F978 5169
M F979 F979 51C9
M F97A F97A 6881
M F97B F97B 7CE7
M F97C F97C 826F
M F97D F97D 8AD2
M F97E F97E 91CF
M F97F F97F 52F5
M F980 F980 5442
M F981 F981 5973
M F982 F982 5EEC
M F983 F983 65C5
M F984 F984 6FFE
M F985 F985 792A
M F986 F986 95AD
M F987 F987 9A6A
M F988 F988 9E97
M F989 F989 9ECE
M F98A F98A 529B
M F98B F98B 66C6
M F98C F98C 6B77
M F98D F98D 8F62
M F98E F98E 5E74
M F98F F98F 6190
M F990 F990 6200
M F991 F991 649A
M F992 F992 6F23
M F993 F993 7149
M F994 F994 7489
M F995 F995 79CA
M F996 F996 7DF4
M F997 F997 806F
M F998 F998 8F26
M F999 F999 84EE
M F99A F99A 9023
M F99B F99B 934A
M F99C F99C 5217
M F99D F99D 52A3
M F99E F99E 54BD
M F99F F99F 70C8
M F9A0 F9A0 88C2
M F9A1 F9A1 8AAA
M F9A2 F9A2 5EC9
M F9A3 F9A3 5FF5
M F9A4 F9A4 637B
M F9A5 F9A5 6BAE
M F9A6 F9A6 7C3E
M F9A7 F9A7 7375
M F9A8 F9A8 4EE4
M F9A9 F9A9 56F9
M F9AA F9AA 5BE7
M F9AB F9AB 5DBA
M F9AC F9AC 601C
M F9AD F9AD 73B2
M F9AE F9AE 7469
M F9AF F9AF 7F9A
M F9B0 F9B0 8046
M F9B1 F9B1 9234
M F9B2 F9B2 96F6
M F9B3 F9B3 9748
M F9B4 F9B4 9818
M F9B5 F9B5 4F8B
M F9B6 F9B6 79AE
M F9B7 F9B7 91B4
M F9B8 F9B8 96B8
M F9B9 F9B9 60E1
M F9BA F9BA 4E86
M F9BB F9BB 50DA
M F9BC F9BC 5BEE
M F9BD F9BD 5C3F
M F9BE F9BE 6599
M F9BF F9BF 6A02
M F9C0 F9C0 71CE
M F9C1 F9C1 7642
M F9C2 F9C2 84FC
M F9C3 F9C3 907C
M F9C4 F9C4 9F8D
M F9C5 F9C5 6688
M F9C6 F9C6 962E
M F9C7 F9C7 5289
M F9C8 F9C8 677B
M F9C9 F9C9 67F3
M F9CA F9CA 6D41
M F9CB F9CB 6E9C
M F9CC F9CC 7409
M F9CD F9CD 7559
M F9CE F9CE 786B
M F9CF F9CF 7D10
M F9D0 F9D0 985E
M F9D1 F9D1 516D
M F9D2 F9D2 622E
M F9D3 F9D3 9678
M F9D4 F9D4 502B
M F9D5 F9D5 5D19
M F9D6 F9D6 6DEA
M F9D7 F9D7 8F2A
M F9D8 F9D8 5F8B
M F9D9 F9D9 6144
M F9DA F9DA 6817
M F9DB F9DB 7387
M F9DC F9DC 9686
M F9DD F9DD 5229
M F9DE F9DE 540F
M F9DF F9DF 5C65
M F9E0 F9E0 6613
M F9E1 F9E1 674E
M F9E2 F9E2 68A8
M F9E3 F9E3 6CE5
M F9E4 F9E4 7406
M F9E5 F9E5 75E2
M F9E6 F9E6 7F79
M F9E7 F9E7 88CF
M F9E8 F9E8 88E1
M F9E9 F9E9 91CC
M F9EA F9EA 96E2
M F9EB F9EB 533F
M F9EC F9EC 6EBA
M F9ED F9ED 541D
M F9EE F9EE 71D0
M F9EF F9EF 7498
M F9F0 F9F0 85FA
M F9F1 F9F1 96A3
M F9F2 F9F2 9C57
M F9F3 F9F3 9E9F
M F9F4 F9F4 6797
M F9F5 F9F5 6DCB
M F9F6 F9F6 81E8
M F9F7 F9F7 7ACB
M F9F8 F9F8 7B20
M F9F9 F9F9 7C92
M F9FA F9FA 72C0
M F9FB F9FB 7099
M F9FC F9FC 8B58
M F9FD F9FD 4EC0
M F9FE F9FE 8336
M F9FF F9FF 523A
M FA00 FA00 5207
M FA01 FA01 5EA6
M FA02 FA02 62D3
M FA03 FA03 7CD6
M FA04 FA04 5B85
M FA05 FA05 6D1E
M FA06 FA06 66B4
M FA07 FA07 8F3B
M FA08 FA08 884C
M FA09 FA09 964D
M FA0A FA0A 898B
M FA0B FA0B 5ED3
M FA0C FA0C 5140
M FA0D FA0D 55C0
M FA10 FA10 585A
M FA12 FA12 6674
M FA15 FA15 51DE
M FA16 FA16 732A
M FA17 FA17 76CA
M FA18 FA18 793C
M FA19 FA19 795E
M FA1A FA1A 7965
M FA1B FA1B 798F
M FA1C FA1C 9756
M FA1D FA1D 7CBE
M FA1E FA1E 7FBD
M FA20 FA20 8612
M FA22 FA22 8AF8
M FA25 FA25 9038
M FA26 FA26 90FD
M FA2A FA2A 98EF
M FA2B FA2B 98FC
M FA2C FA2C 9928
M FA2D FA2D 9DB4
M FA2E FA2E 90DE
M FA2F FA2F 96B7
M FA30 FA30 4FAE
M FA31 FA31 50E7
M FA32 FA32 514D
M FA33 FA33 52C9
M FA34 FA34 52E4
M FA35 FA35 5351
M FA36 FA36 559D
M FA37 FA37 5606
M FA38 FA38 5668
M FA39 FA39 5840
M FA3A FA3A 58A8
M FA3B FA3B 5C64
M FA3C FA3C 5C6E
M FA3D FA3D 6094
M FA3E FA3E 6168
M FA3F FA3F 618E
M FA40 FA40 61F2
M FA41 FA41 654F
M FA42 FA42 65E2
M FA43 FA43 6691
M FA44 FA44 6885
M FA45 FA45 6D77
M FA46 FA46 6E1A
M FA47 FA47 6F22
M FA48 FA48 716E
M FA49 FA49 722B
M FA4A FA4A 7422
M FA4B FA4B 7891
M FA4C FA4C 793E
M FA4D FA4D 7949
M FA4E FA4E 7948
M FA4F FA4F 7950
M FA50 FA50 7956
M FA51 FA51 795D
M FA52 FA52 798D
M FA53 FA53 798E
M FA54 FA54 7A40
M FA55 FA55 7A81
M FA56 FA56 7BC0
M FA57 FA57 7DF4
M FA58 FA58 7E09
M FA59 FA59 7E41
M FA5A FA5A 7F72
M FA5B FA5B 8005
M FA5C FA5C 81ED
M FA5D FA5E 8279
M FA5F FA5F 8457
M FA60 FA60 8910
M FA61 FA61 8996
M FA62 FA62 8B01
M FA63 FA63 8B39
M FA64 FA64 8CD3
M FA65 FA65 8D08
M FA66 FA66 8FB6
M FA67 FA67 9038
M FA68 FA68 96E3
M FA69 FA69 97FF
M FA6A FA6A 983B
M FA6B FA6B 6075
M FA6C FA6C 242EE
M FA6D FA6D 8218
M FA70 FA70 4E26
M FA71 FA71 51B5
M FA72 FA72 5168
M FA73 FA73 4F80
M FA74 FA74 5145
M FA75 FA75 5180
M FA76 FA76 52C7
M FA77 FA77 52FA
M FA78 FA78 559D
M FA79 FA79 5555
M FA7A FA7A 5599
M FA7B FA7B 55E2
M FA7C FA7C 585A
M FA7D FA7D 58B3
M FA7E FA7E 5944
M FA7F FA7F 5954
M FA80 FA80 5A62
M FA81 FA81 5B28
M FA82 FA82 5ED2
M FA83 FA83 5ED9
M FA84 FA84 5F69
M FA85 FA85 5FAD
M FA86 FA86 60D8
M FA87 FA87 614E
M FA88 FA88 6108
M FA89 FA89 618E
M FA8A FA8A 6160
M FA8B FA8B 61F2
M FA8C FA8C 6234
M FA8D FA8D 63C4
M FA8E FA8E 641C
M FA8F FA8F 6452
M FA90 FA90 6556
M FA91 FA91 6674
M FA92 FA92 6717
M FA93 FA93 671B
M FA94 FA94 6756
M FA95 FA95 6B79
M FA96 FA96 6BBA
M FA97 FA97 6D41
M FA98 FA98 6EDB
M FA99 FA99 6ECB
M FA9A FA9A 6F22
M FA9B FA9B 701E
M FA9C FA9C 716E
M FA9D FA9D 77A7
M FA9E FA9E 7235
M FA9F FA9F 72AF
M FAA0 FAA0 732A
M FAA1 FAA1 7471
M FAA2 FAA2 7506
M FAA3 FAA3 753B
M FAA4 FAA4 761D
M FAA5 FAA5 761F
M FAA6 FAA6 76CA
M FAA7 FAA7 76DB
M FAA8 FAA8 76F4
M FAA9 FAA9 774A
M FAAA FAAA 7740
M FAAB FAAB 78CC
M FAAC FAAC 7AB1
M FAAD FAAD 7BC0
M FAAE FAAE 7C7B
M FAAF FAAF 7D5B
M FAB0 FAB0 7DF4
M FAB1 FAB1 7F3E
M FAB2 FAB2 8005
M FAB3 FAB3 8352
M FAB4 FAB4 83EF
M FAB5 FAB5 8779
M FAB6 FAB6 8941
M FAB7 FAB7 8986
M FAB8 FAB8 8996
M FAB9 FAB9 8ABF
M FABA FABA 8AF8
M FABB FABB 8ACB
M FABC FABC 8B01
M FABD FABD 8AFE
M FABE FABE 8AED
M FABF FABF 8B39
M FAC0 FAC0 8B8A
M FAC1 FAC1 8D08
M FAC2 FAC2 8F38
M FAC3 FAC3 9072
M FAC4 FAC4 9199
M FAC5 FAC5 9276
M FAC6 FAC6 967C
M FAC7 FAC7 96E3
M FAC8 FAC8 9756
M FAC9 FAC9 97DB
M FACA FACA 97FF
M FACB FACB 980B
M FACC FACC 983B
M FACD FACD 9B12
M FACE FACE 9F9C
M FACF FACF 2284A
M FAD0 FAD0 22844
M FAD1 FAD1 233D5
M FAD2 FAD2 3B9D
M FAD3 FAD3 4018
M FAD4 FAD4 4039
M FAD5 FAD5 25249
M FAD6 FAD6 25CD0
M FAD7 FAD7 27ED3
M FAD8 FAD8 9F43
M FAD9 FAD9 9F8E
M 1134B 1134B 11347 1133E
M 1134C 1134C 11347 11357
M 114BC 114BC 114B9 114B0
M 114BE 114BE 114B9 114BD
M 115BA 115BA 115B8 115AF
M 115BB 115BB 115B9 115AF
M 1D15E 1D15E 1D157 1D165
M 1D15F 1D15F 1D158 1D165
M 1D160 1D160 1D158 1D165 1D16E
M 1D161 1D161 1D158 1D165 1D16F
M 1D162 1D162 1D158 1D165 1D170
M 1D163 1D163 1D158 1D165 1D171
M 1D164 1D164 1D158 1D165 1D172
M 1D1BB 1D1BB 1D1B9 1D165
M 1D1BC 1D1BC 1D1BA 1D165
M 1D1BD 1D1BD 1D1B9 1D165 1D16E
M 1D1BE 1D1BE 1D1BA 1D165 1D16E
M 1D1BF 1D1BF 1D1B9 1D165 1D16F
M 1D1C0 1D1C0 1D1BA 1D165 1D16F
M 2F800 2F800 4E3D
M 2F801 2F801 4E38
M 2F802 2F802 4E41
M 2F803 2F803 20122
M 2F804 2F804 4F60
M 2F805 2F805 4FAE
M 2F806 2F806 4FBB
M 2F807 2F807 5002
M 2F808 2F808 507A
M 2F809 2F809 5099
M 2F80A 2F80A 50E7
M 2F80B 2F80B 50CF
M 2F80C 2F80C 349E
M 2F80D 2F80D 2063A
M 2F80E 2F80E 514D
M 2F80F 2F80F 5154
M 2F810 2F810 5164
M 2F811 2F811 5177
M 2F812 2F812 2051C
M 2F813 2F813 34B9
M 2F814 2F814 5167
M 2F815 2F815 518D
M 2F816 2F816 2054B
M 2F817 2F817 5197
M 2F818 2F818 51A4
M 2F819 2F819 4ECC
M 2F81A 2F81A 51AC
M 2F81B 2F81B 51B5
M 2F81C 2F81C 291DF
M 2F81D 2F81D 51F5
M 2F81E 2F81E 5203
M 2F81F 2F81F 34DF
M 2F820 2F820 523B
M 2F821 2F821 5246
M 2F822 2F822 5272
M 2F823 2F823 5277
M 2F824 2F824 3515
M 2F825 2F825 52C7
M 2F826 2F826 52C9
M 2F827 2F827 52E4
M 2F828 2F828 52FA
M 2F829 2F829 5305
M 2F82A 2F82A 5306
M 2F82B 2F82B 5317
M 2F82C 2F82C 5349
M 2F82D 2F82D 5351
M 2F82E 2F82E 535A
M 2F82F 2F82F 5373
M 2F830 2F830 537D
M 2F831 2F833 537F
M 2F834 2F834 20A2C
M 2F835 2F835 7070
M 2F836 2F836 53CA
M 2F837 2F837 53DF
M 2F838 2F838 20B63
M 2F839 2F839 53EB
M 2F83A 2F83A 53F1
M 2F83B 2F83B 5406
M 2F83C 2F83C 549E
M 2F83D 2F83D 5438
M 2F83E 2F83E 5448
M 2F83F 2F83F 5468
M 2F840 2F840 54A2
M 2F841 2F841 54F6
M 2F842 2F842 5510
M 2F843 2F843 5553
M 2F844 2F844 5563
M 2F845 2F846 5584
M 2F847 2F847 5599
M 2F848 2F848 55AB
M 2F849 2F849 55B3
M 2F84A 2F84A 55C2
M 2F84B 2F84B 5716
M 2F84C 2F84C 5606
M 2F84D 2F84D 5717
M 2F84E 2F84E 5651
M 2F84F 2F84F 5674
M 2F850 2F850 5207
M 2F851 2F851 58EE
M 2F852 2F852 57CE
M 2F853 2F853 57F4
M 2F854 2F854 580D
M 2F855 2F855 578B
M 2F856 2F856 5832
M 2F857 2F857 5831
M 2F858 2F858 58AC
M 2F859 2F859 214E4
M 2F85A 2F85A 58F2
M 2F85B 2F85B 58F7
M 2F85C 2F85C 5906
M 2F85D 2F85D 591A
M 2F85E 2F85E 5922
M 2F85F 2F85F 5962
M 2F860 2F860 216A8
M 2F861 2F861 216EA
M 2F862 2F862 59EC
M 2F863 2F863 5A1B
M 2F864 2F864 5A27
M 2F865 2F865 59D8
M 2F866 2F866 5A66
M 2F867 2F867 36EE
M 2F868 2F868 36FC
M 2F869 2F869 5B08
M 2F86A 2F86B 5B3E
M 2F86C 2F86C 219C8
M 2F86D 2F86D 5BC3
M 2F86E 2F86E 5BD8
M 2F86F 2F86F 5BE7
M 2F870 2F870 5BF3
M 2F871 2F871 21B18
M 2F872 2F872 5BFF
M 2F873 2F873 5C06
M 2F874 2F874 5F53
M 2F875 2F875 5C22
M 2F876 2F876 3781
M 2F877 2F877 5C60
M 2F878 2F878 5C6E
M 2F879 2F879 5CC0
M 2F87A 2F87A 5C8D
M 2F87B 2F87B 21DE4
M 2F87C 2F87C 5D43
M 2F87D 2F87D 21DE6
M 2F87E 2F87E 5D6E
M 2F87F 2F87F 5D6B
M 2F880 2F880 5D7C
M 2F881 2F881 5DE1
M 2F882 2F882 5DE2
M 2F883 2F883 382F
M 2F884 2F884 5DFD
M 2F885 2F885 5E28
M 2F886 2F886 5E3D
M 2F887 2F887 5E69
M 2F888 2F888 3862
M 2F889 2F889 22183
M 2F88A 2F88A 387C
M 2F88B 2F88B 5EB0
M 2F88C 2F88C 5EB3
M 2F88D 2F88D 5EB6
M 2F88E 2F88E 5ECA
M 2F88F 2F88F 2A392
M 2F890 2F890 5EFE
M 2F891 2F892 22331
M 2F893 2F893 8201
M 2F894 2F895 5F22
M 2F896 2F896 38C7
M 2F897 2F897 232B8
M 2F898 2F898 261DA
M 2F899 2F899 5F62
M 2F89A 2F89A 5F6B
M 2F89B 2F89B 38E3
M 2F89C 2F89C 5F9A
M 2F89D 2F89D 5FCD
M 2F89E 2F89E 5FD7
M 2F89F 2F89F 5FF9
M 2F8A0 2F8A0 6081
M 2F8A1 2F8A1 393A
M 2F8A2 2F8A2 391C
M 2F8A3 2F8A3 6094
M 2F8A4 2F8A4 226D4
M 2F8A5 2F8A5 60C7
M 2F8A6 2F8A6 6148
M 2F8A7 2F8A7 614C
M 2F8A8 2F8A8 614E
M 2F8A9 2F8A9 614C
M 2F8AA 2F8AA 617A
M 2F8AB 2F8AB 618E
M 2F8AC 2F8AC 61B2
M 2F8AD 2F8AD 61A4
M 2F8AE 2F8AE 61AF
M 2F8AF 2F8AF 61DE
M 2F8B0 2F8B0 61F2
M 2F8B1 2F8B1 61F6
M 2F8B2 2F8B2 6210
M 2F8B3 2F8B3 621B
M 2F8B4 2F8B4 625D
M 2F8B5 2F8B5 62B1
M 2F8B6 2F8B6 62D4
M 2F8B7 2F8B7 6350
M 2F8B8 2F8B8 22B0C
M 2F8B9 2F8B9 633D
M 2F8BA 2F8BA 62FC
M 2F8BB 2F8BB 6368
M 2F8BC 2F8BC 6383
M 2F8BD 2F8BD 63E4
M 2F8BE 2F8BE 22BF1
M 2F8BF 2F8BF 6422
M 2F8C0 2F8C0 63C5
M 2F8C1 2F8C1 63A9
M 2F8C2 2F8C2 3A2E
M 2F8C3 2F8C3 6469
M 2F8C4 2F8C4 647E
M 2F8C5 2F8C5 649D
M 2F8C6 2F8C6 6477
M 2F8C7 2F8C7 3A6C
M 2F8C8 2F8C8 654F
M 2F8C9 2F8C9 656C
M 2F8CA 2F8CA 2300A
M 2F8CB 2F8CB 65E3
M 2F8CC 2F8CC 66F8
M 2F8CD 2F8CD 6649
M 2F8CE 2F8CE 3B19
M 2F8CF 2F8CF 6691
M 2F8D0 2F8D0 3B08
M 2F8D1 2F8D1 3AE4
M 2F8D2 2F8D2 5192
M 2F8D3 2F8D3 5195
M 2F8D4 2F8D4 6700
M 2F8D5 2F8D5 669C
M 2F8D6 2F8D6 80AD
M 2F8D7 2F8D7 43D9
M 2F8D8 2F8D8 6717
M 2F8D9 2F8D9 671B
M 2F8DA 2F8DA 6721
M 2F8DB 2F8DB 675E
M 2F8DC 2F8DC 6753
M 2F8DD 2F8DD 233C3
M 2F8DE 2F8DE 3B49
M 2F8DF 2F8DF 67FA
M 2F8E0 2F8E0 6785
M 2F8E1 2F8E1 6852
M 2F8E2 2F8E2 6885
M 2F8E3 2F8E3 2346D
M 2F8E4 2F8E4 688E
M 2F8E5 2F8E5 681F
M 2F8E6 2F8E6 6914
M 2F8E7 2F8E7 3B9D
M 2F8E8 2F8E8 6942
M 2F8E9 2F8E9 69A3
M 2F8EA 2F8EA 69EA
M 2F8EB 2F8EB 6AA8
M 2F8EC 2F8EC 236A3
M 2F8ED 2F8ED 6ADB
M 2F8EE 2F8EE 3C18
M 2F8EF 2F8EF 6B21
M 2F8F0 2F8F0 238A7
M 2F8F1 2F8F1 6B54
M 2F8F2 2F8F2 3C4E
M 2F8F3 2F8F3 6B72
M 2F8F4 2F8F4 6B9F
M 2F8F5 2F8F5 6BBA
M 2F8F6 2F8F6 6BBB
M 2F8F7 2F8F7 23A8D
M 2F8F8 2F8F8 21D0B
M 2F8F9 2F8F9 23AFA
M 2F8FA 2F8FA 6C4E
M 2F8FB 2F8FB 23CBC
M 2F8FC 2F8FC 6CBF
M 2F8FD 2F8FD 6CCD
M 2F8FE 2F8FE 6C67
M 2F8FF 2F8FF 6D16
M 2F900 2F900 6D3E
M 2F901 2F901 6D77
M 2F902 2F902 6D41
M 2F903 2F903 6D69
M 2F904 2F904 6D78
M 2F905 2F905 6D85
M 2F906 2F906 23D1E
M 2F907 2F907 6D34
M 2F908 2F908 6E2F
M 2F909 2F909 6E6E
M 2F90A 2F90A 3D33
M 2F90B 2F90B 6ECB
M 2F90C 2F90C 6EC7
M 2F90D 2F90D 23ED1
M 2F90E 2F90E 6DF9
M 2F90F 2F90F 6F6E
M 2F910 2F910 23F5E
M 2F911 2F911 23F8E
M 2F912 2F912 6FC6
M 2F913 2F913 7039
M 2F914 2F914 701E
M 2F915 2F915 701B
M 2F916 2F916 3D96
M 2F917 2F917 704A
M 2F918 2F918 707D
M 2F919 2F919 7077
M 2F91A 2F91A 70AD
M 2F91B 2F91B 20525
M 2F91C 2F91C 7145
M 2F91D 2F91D 24263
M 2F91E 2F91E 719C
M 2F91F 2F91F 243AB
M 2F920 2F920 7228
M 2F921 2F921 7235
M 2F922 2F922 7250
M 2F923 2F923 24608
M 2F924 2F924 7280
M 2F925 2F925 7295
M 2F926 2F926 24735
M 2F927 2F927 24814
M 2F928 2F928 737A
M 2F929 2F929 738B
M 2F92A 2F92A 3EAC
M 2F92B 2F92B 73A5
M 2F92C 2F92D 3EB8
M 2F92E 2F92E 7447
M 2F92F 2F92F 745C
M 2F930 2F930 7471
M 2F931 2F931 7485
M 2F932 2F932 74CA
M 2F933 2F933 3F1B
M 2F934 2F934 7524
M 2F935 2F935 24C36
M 2F936 2F936 753E
M 2F937 2F937 24C92
M 2F938 2F938 7570
M 2F939 2F939 2219F
M 2F93A 2F93A 7610
M 2F93B 2F93B 24FA1
M 2F93C 2F93C 24FB8
M 2F93D 2F93D 25044
M 2F93E 2F93E 3FFC
M 2F93F 2F93F 4008
M 2F940 2F940 76F4
M 2F941 2F941 250F3
M 2F942 2F942 250F2
M 2F943 2F943 25119
M 2F944 2F944 25133
M 2F945 2F945 771E
M 2F946 2F947 771F
M 2F948 2F948 774A
M 2F949 2F949 4039
M 2F94A 2F94A 778B
M 2F94B 2F94B 4046
M 2F94C 2F94C 4096
M 2F94D 2F94D 2541D
M 2F94E 2F94E 784E
M 2F94F 2F94F 788C
M 2F950 2F950 78CC
M 2F951 2F951 40E3
M 2F952 2F952 25626
M 2F953 2F953 7956
M 2F954 2F954 2569A
M 2F955 2F955 256C5
M 2F956 2F956 798F
M 2F957 2F957 79EB
M 2F958 2F958 412F
M 2F959 2F959 7A40
M 2F95A 2F95A 7A4A
M 2F95B 2F95B 7A4F
M 2F95C 2F95C 2597C
M 2F95D 2F95E 25AA7
M 2F95F 2F95F 7AEE
M 2F960 2F960 4202
M 2F961 2F961 25BAB
M 2F962 2F962 7BC6
M 2F963 2F963 7BC9
M 2F964 2F964 4227
M 2F965 2F965 25C80
M 2F966 2F966 7CD2
M 2F967 2F967 42A0
M 2F968 2F968 7CE8
M 2F969 2F969 7CE3
M 2F96A 2F96A 7D00
M 2F96B 2F96B 25F86
M 2F96C 2F96C 7D63
M 2F96D 2F96D 4301
M 2F96E 2F96E 7DC7
M 2F96F 2F96F 7E02
M 2F970 2F970 7E45
M 2F971 2F971 4334
M 2F972 2F972 26228
M 2F973 2F973 26247
M 2F974 2F974 4359
M 2F975 2F975 262D9
M 2F976 2F976 7F7A
M 2F977 2F977 2633E
M 2F978 2F978 7F95
M 2F979 2F979 7FFA
M 2F97A 2F97A 8005
M 2F97B 2F97B 264DA
M 2F97C 2F97C 26523
M 2F97D 2F97D 8060
M 2F97E 2F97E 265A8
M 2F97F 2F97F 8070
M 2F980 2F980 2335F
M 2F981 2F981 43D5
M 2F982 2F982 80B2
M 2F983 2F983 8103
M 2F984 2F984 440B
M 2F985 2F985 813E
M 2F986 2F986 5AB5
M 2F987 2F987 267A7
M 2F988 2F988 267B5
M 2F989 2F989 23393
M 2F98A 2F98A 2339C
M 2F98B 2F98B 8201
M 2F98C 2F98C 8204
M 2F98D 2F98D 8F9E
M 2F98E 2F98E 446B
M 2F98F 2F98F 8291
M 2F990 2F990 828B
M 2F991 2F991 829D
M 2F992 2F992 52B3
M 2F993 2F993 82B1
M 2F994 2F994 82B3
M 2F995 2F995 82BD
M 2F996 2F996 82E6
M 2F997 2F997 26B3C
M 2F998 2F998 82E5
M 2F999 2F999 831D
M 2F99A 2F99A 8363
M 2F99B 2F99B 83AD
M 2F99C 2F99C 8323
M 2F99D 2F99D 83BD
M 2F99E 2F99E 83E7
M 2F99F 2F99F 8457
M 2F9A0 2F9A0 8353
M 2F9A1 2F9A1 83CA
M 2F9A2 2F9A2 83CC
M 2F9A3 2F9A3 83DC
M 2F9A4 2F9A4 26C36
M 2F9A5 2F9A5 26D6B
M 2F9A6 2F9A6 26CD5
M 2F9A7 2F9A7 452B
M 2F9A8 2F9A8 84F1
M 2F9A9 2F9A9 84F3
M 2F9AA 2F9AA 8516
M 2F9AB 2F9AB 273CA
M 2F9AC 2F9AC 8564
M 2F9AD 2F9AD 26F2C
M 2F9AE 2F9AE 455D
M 2F9AF 2F9AF 4561
M 2F9B0 2F9B0 26FB1
M 2F9B1 2F9B1 270D2
M 2F9B2 2F9B2 456B
M 2F9B3 2F9B3 8650
M 2F9B4 2F9B4 865C
M 2F9B5 2F9B5 8667
M 2F9B6 2F9B6 8669
M 2F9B7 2F9B7 86A9
M 2F9B8 2F9B8 8688
M 2F9B9 2F9B9 870E
M 2F9BA 2F9BA 86E2
M 2F9BB 2F9BB 8779
M 2F9BC 2F9BC 8728
M 2F9BD 2F9BD 876B
M 2F9BE 2F9BE 8786
M 2F9BF 2F9BF 45D7
M 2F9C0 2F9C0 87E1
M 2F9C1 2F9C1 8801
M 2F9C2 2F9C2 45F9
M 2F9C3 2F9C3 8860
M 2F9C4 2F9C4 8863
M 2F9C5 2F9C5 27667
M 2F9C6 2F9C6 88D7
M 2F9C7 2F9C7 88DE
M 2F9C8 2F9C8 4635
M 2F9C9 2F9C9 88FA
M 2F9CA 2F9CA 34BB
M 2F9CB 2F9CB 278AE
M 2F9CC 2F9CC 27966
M 2F9CD 2F9CD 46BE
M 2F9CE 2F9CE 46C7
M 2F9CF 2F9CF 8AA0
M 2F9D0 2F9D0 8AED
M 2F9D1 2F9D1 8B8A
M 2F9D2 2F9D2 8C55
M 2F9D3 2F9D3 27CA8
M 2F9D4 2F9D4 8CAB
M 2F9D5 2F9D5 8CC1
M 2F9D6 2F9D6 8D1B
M 2F9D7 2F9D7 8D77
M 2F9D8 2F9D8 27F2F
M 2F9D9 2F9D9 20804
M 2F9DA 2F9DA 8DCB
M 2F9DB 2F9DB 8DBC
M 2F9DC 2F9DC 8DF0
M 2F9DD 2F9DD 208DE
M 2F9DE 2F9DE 8ED4
M 2F9DF 2F9DF 8F38
M 2F9E0 2F9E0 285D2
M 2F9E1 2F9E1 285ED
M 2F9E2 2F9E2 9094
M 2F9E3 2F9E3 90F1
M 2F9E4 2F9E4 9111
M 2F9E5 2F9E5 2872E
M 2F9E6 2F9E6 911B
M 2F9E7 2F9E7 9238
M 2F9E8 2F9E8 92D7
M 2F9E9 2F9E9 92D8
M 2F9EA 2F9EA 927C
M 2F9EB 2F9EB 93F9
M 2F9EC 2F9EC 9415
M 2F9ED 2F9ED 28BFA
M 2F9EE 2F9EE 958B
M 2F9EF 2F9EF 4995
M 2F9F0 2F9F0 95B7
M 2F9F1 2F9F1 28D77
M 2F9F2 2F9F2 49E6
M 2F9F3 2F9F3 96C3
M 2F9F4 2F9F4 5DB2
M 2F9F5 2F9F5 9723
M 2F9F6 2F9F6 29145
M 2F9F7 2F9F7 2921A
M 2F9F8 2F9F8 4A6E
M 2F9F9 2F9F9 4A76
M 2F9FA 2F9FA 97E0
M 2F9FB 2F9FB 2940A
M 2F9FC 2F9FC 4AB2
M 2F9FD 2F9FD 29496
M 2F9FE 2F9FF 980B
M 2FA00 2FA00 9829
M 2FA01 2FA01 295B6
M 2FA02 2FA02 98E2
M 2FA03 2FA03 4B33
M 2FA04 2FA04 9929
M 2FA05 2FA05 99A7
M 2FA06 2FA06 99C2
M 2FA07 2FA07 99FE
M 2FA08 2FA08 4BCE
M 2FA09 2FA09 29B30
M 2FA0A 2FA0A 9B12
M 2FA0B 2FA0B 9C40
M 2FA0C 2FA0C 9CFD
M 2FA0D 2FA0D 4CCE
M 2FA0E 2FA0E 4CED
M 2FA0F 2FA0F 9D67
M 2FA10 2FA10 2A0CE
M 2FA11 2FA11 4CF8
M 2FA12 2FA12 2A105
M 2FA13 2FA13 2A20E
M 2FA14 2FA14 2A291
M 2FA15 2FA15 9EBB
M 2FA16 2FA16 4D56
M 2FA17 2FA17 9EF9
M 2FA18 2FA18 9EFE
M 2FA19 2FA19 9F05
M 2FA1A 2FA1A 9F0F
M 2FA1B 2FA1B 9F16
M 2FA1C 2FA1C 9F3B
M 2FA1D 2FA1D 2A600
L 41 5A 20
L C0 C0 -5F
L C1 C1 -60
L C2 C2 -61
L C3 C3 -62
L C4 C4 -63
L C5 C5 -64
L C6 C6 20
L C7 C7 -64
L C8 C8 -63
L C9 C9 -64
L CA CA -65
L CB CB -66
L CC CC -63
L CD CD -64
L CE CE -65
L CF CF -66
L D0 D0 20
L D1 D2 -63
L D3 D3 -64
L D4 D4 -65
L D5 D5 -66
L D6 D6 -67
L D8 D8 20
L D9 D9 -64
L DA DA -65
L DB DB -66
L DC DC -67
L DD DD -64
L DE DE 20
L E0 E0 -7F
L E1 E1 -80
L E2 E2 -81
L E3 E3 -82
L E4 E4 -83
L E5 E5 -84
L E7 E7 -84
L E8 E8 -83
L E9 E9 -84
L EA EA -85
L EB EB -86
L EC EC -83
L ED ED -84
L EE EE -85
L EF EF -86
L F1 F2 -83
L F3 F3 -84
L F4 F4 -85
L F5 F5 -86
L F6 F6 -87
L F9 F9 -84
L FA FA -85
L FB FB -86
L FC FC -87
L FD FD -84
L FF FF -86
L 100 100 -9F
L 101 101 -A0
L 102 102 -A1
L 103 103 -A2
L 104 104 -A3
L 105 105 -A4
L 106 106 -A3
L 107 107 -A4
L 108 108 -A5
L 109 109 -A6
L 10A 10A -A7
L 10B 10B -A8
L 10C 10C -A9
L 10D 10E -AA
L 10F 10F -AB
L 110 110 1
L 112 112 -AD
L 113 113 -AE
L 114 114 -AF
L 115 115 -B0
L 116 116 -B1
L 117 117 -B2
L 118 118 -B3
L 119 119 -B4
L 11A 11A -B5
L 11B 11B -B6
L 11C 11C -B5
L 11D 11D -B6
L 11E 11E -B7
L 11F 11F -B8
L 120 120 -B9
L 121 121 -BA
L 122 122 -BB
L 123 124 -BC
L 125 125 -BD
L 126 126 1
L 128 128 -BF
L 129 129 -C0
L 12A 12A -C1
L 12B 12B -C2
L 12C 12C -C3
L 12D 12D -C4
L 12E 12E -C5
L 12F 12F -C6
L 130 130 -C7
L 132 132 1
L 134 134 -CA
L 135 136 -CB
L 137 137 -CC
L 139 139 -CD
L 13A 13A -CE
L 13B 13B -CF
L 13C 13C -D0
L 13D 13D -D1
L 13E 13E -D2
L 13F 13F 1
L 141 141 1
L 143 143 -D5
L 144 144 -D6
L 145 145 -D7
L 146 146 -D8
L 147 147 -D9
L 148 148 -DA
L 14A 14A 1
L 14C 14C -DD
L 14D 14D -DE
L 14E 14E -DF
L 14F 14F -E0
L 150 150 -E1
L 151 151 -E2
L 152 152 1
L 154 154 -E2
L 155 155 -E3
L 156 156 -E4
L 157 157 -E5
L 158 158 -E6
L 159 15A -E7
L 15B 15B -E8
L 15C 15C -E9
L 15D 15D -EA
L 15E 15E -EB
L 15F 15F -EC
L 160 160 -ED
L 161 162 -EE
L 163 163 -EF
L 164 164 -F0
L 165 165 -F1
L 166 166 1
L 168 168 -F3
L 169 169 -F4
L 16A 16A -F5
L 16B 16B -F6
L 16C 16C -F7
L 16D 16D -F8
L 16E 16E -F9
L 16F 16F -FA
L 170 170 -FB
L 171 171 -FC
L 172 172 -FD
L 173 173 -FE
L 174 174 -FD
L 175 175 -FE
L 176 176 -FD
L 177 177 -FE
L 178 179 -FF
L 17A 17A -100
L 17B 17B -101
L 17C 17C -102
L 17D 17D -103
L 17E 17E -104
L 181 181 D2
L 182 182 1
L 184 184 1
L 186 186 CE
L 187 187 1
L 189 18A CD
L 18B 18B 1
L 18E 18E 4F
L 18F 18F CA
L 190 190 CB
L 191 191 1
L 193 193 CD
L 194 194 CF
L 196 196 D3
L 197 197 D1
L 198 198 1
L 19C 19C D3
L 19D 19D D5
L 19F 19F D6
L 1A0 1A0 -131
L 1A1 1A1 -132
L 1A2 1A2 1
L 1A4 1A4 1
L 1A6 1A6 DA
L 1A7 1A7 1
L 1A9 1A9 DA
L 1AC 1AC 1
L 1AE 1AE DA
L 1AF 1AF -13A
L 1B0 1B0 -13B
L 1B1 1B2 D9
L 1B3 1B3 1
L 1B5 1B5 1
L 1B7 1B7 DB
L 1B8 1B8 1
L 1BC 1BC 1
L 1C4 1C4 2
L 1C5 1C5 1
L 1C7 1C7 2
L 1C8 1C8 1
L 1CA 1CA 2
L 1CB 1CB 1
L 1CD 1CD -16C
L 1CE 1CE -16D
L 1CF 1CF -166
L 1D0 1D0 -167
L 1D1 1D1 -162
L 1D2 1D2 -163
L 1D3 1D3 -15E
L 1D4 1D4 -15F
L 1D5 1D5 -160
L 1D6 1D6 -161
L 1D7 1D7 -162
L 1D8 1D8 -163
L 1D9 1D9 -164
L 1DA 1DA -165
L 1DB 1DB -166
L 1DC 1DC -167
L 1DE 1DE -17D
L 1DF 1DF -17E
L 1E0 1E0 -17F
L 1E1 1E1 -180
L 1E2 1E2 -FC
L 1E3 1E3 -FD
L 1E4 1E4 1
L 1E6 1E6 -17F
L 1E7 1E7 -180
L 1E8 1E8 -17D
L 1E9 1E9 -17E
L 1EA 1EA -17B
L 1EB 1EB -17C
L 1EC 1EC -17D
L 1ED 1ED -17E
L 1EE 1EE A4
L 1EF 1EF A3
L 1F0 1F0 -186
L 1F1 1F1 2
L 1F2 1F2 1
L 1F4 1F4 -18D
L 1F5 1F5 -18E
L 1F6 1F6 -61
L 1F7 1F7 -38
L 1F8 1F8 -18A
L 1F9 1F9 -18B
L 1FA 1FA -199
L 1FB 1FB -19A
L 1FC 1FC -116
L 1FD 1FD -117
L 1FE 1FE -106
L 1FF 1FF -107
L 200 200 -19F
L 201 201 -1A0
L 202 202 -1A1
L 203 203 -1A2
L 204 204 -19F
L 205 205 -1A0
L 206 206 -1A1
L 207 207 -1A2
L 208 208 -19F
L 209 209 -1A0
L 20A 20A -1A1
L 20B 20B -1A2
L 20C 20C -19D
L 20D 20D -19E
L 20E 20E -19F
L 20F 20F -1A0
L 210 210 -19E
L 211 211 -19F
L 212 212 -1A0
L 213 213 -1A1
L 214 214 -19F
L 215 215 -1A0
L 216 216 -1A1
L 217 217 -1A2
L 218 218 -1A5
L 219 21A -1A6
L 21B 21B -1A7
L 21C 21C 1
L 21E 21E -1B6
L 21F 21F -1B7
L 220 220 -82
L 222 222 1
L 224 224 1
L 226 226 -1C5
L 227 227 -1C6
L 228 228 -1C3
L 229 229 -1C4
L 22A 22A -1BB
L 22B 22B -1BC
L 22C 22C -1BD
L 22D 22D -1BE
L 22E 22E -1BF
L 22F 22F -1C0
L 230 230 -1C1
L 231 231 -1C2
L 232 232 -1B9
L 233 233 -1BA
L 23A 23A 2A2B
L 23B 23B 1
L 23D 23D -A3
L 23E 23E 2A28
L 241 241 1
L 243 243 -C3
L 244 244 45
L 245 245 47
L 246 246 1
L 248 248 1
L 24A 24A 1
L 24C 24C 1
L 24E 24E 1
L 370 370 1
L 372 372 1
L 374 374 -BB
L 376 376 1
L 37E 37E -343
L 37F 37F 74
L 385 385 -2DD
L 386 386 2B
L 387 387 -2D0
L 388 388 2D
L 389 389 2E
L 38A 38A 2F
L 38C 38C 33
L 38E 38E 37
L 38F 38F 3A
L 390 390 29
L 391 3A1 20
L 3A3 3A9 20
L 3AA 3AA F
L 3AB 3AB 1A
L 3AC 3AC 5
L 3AD 3AD 8
L 3AE 3AE 9
L 3AF 3AF A
L 3B0 3B0 15
L 3CA 3CA -11
L 3CB 3CB -6
L 3CC 3CC -D
L 3CD 3CD -8
L 3CE 3CE -5
L 3CF 3CF 8
L 3D3 3D3 -1
L 3D4 3D4 -2
L 3D8 3D8 1
L 3DA 3DA 1
L 3DC 3DC 1
L 3DE 3DE 1
L 3E0 3E0 1
L 3E2 3E2 1
L 3E4 3E4 1
L 3E6 3E6 1
L 3E8 3E8 1
L 3EA 3EA 1
L 3EC 3EC 1
L 3EE 3EE 1
L 3F4 3F4 -3C
L 3F7 3F7 1
L 3F9 3F9 -7
L 3FA 3FA 1
L 3FD 3FF -82
L 400 400 35
L 401 401 34
L 402 402 50
L 403 403 30
L 404 406 50
L 407 407 4F
L 408 40B 50
L 40C 40C 2E
L 40D 40D 2B
L 40E 40E 35
L 40F 40F 50
L 410 418 20
L 419 419 1F
L 41A 42F 20
L 439 439 -1
L 450 450 -1B
L 451 451 -1C
L 453 453 -20
L 457 457 -1
L 45C 45C -22
L 45D 45D -25
L 45E 45E -1B
L 460 460 1
L 462 462 1
L 464 464 1
L 466 466 1
L 468 468 1
L 46A 46A 1
L 46C 46C 1
L 46E 46E 1
L 470 470 1
L 472 472 1
L 474 474 1
L 476 476 -1
L 477 477 -2
L 478 478 1
L 47A 47A 1
L 47C 47C 1
L 47E 47E 1
L 480 480 1
L 48A 48A 1
L 48C 48C 1
L 48E 48E 1
L 490 490 1
L 492 492 1
L 494 494 1
L 496 496 1
L 498 498 1
L 49A 49A 1
L 49C 49C 1
L 49E 49E 1
L 4A0 4A0 1
L 4A2 4A2 1
L 4A4 4A4 1
L 4A6 4A6 1
L 4A8 4A8 1
L 4AA 4AA 1
L 4AC 4AC 1
L 4AE 4AE 1
L 4B0 4B0 1
L 4B2 4B2 1
L 4B4 4B4 1
L 4B6 4B6 1
L 4B8 4B8 1
L 4BA 4BA 1
L 4BC 4BC 1
L 4BE 4BE 1
L 4C0 4C0 F
L 4C1 4C1 -8B
L 4C2 4C2 -8C
L 4C3 4C3 1
L 4C5 4C5 1
L 4C7 4C7 1
L 4C9 4C9 1
L 4CB 4CB 1
L 4CD 4CD 1
L 4D0 4D0 -A0
L 4D1 4D1 -A1
L 4D2 4D2 -A2
L 4D3 4D3 -A3
L 4D4 4D4 1
L 4D6 4D6 -A1
L 4D7 4D7 -A2
L 4D8 4D8 1
L 4DA 4DA -1
L 4DB 4DB -2
L 4DC 4DC -A6
L 4DD 4DE -A7
L 4DF 4DF -A8
L 4E0 4E0 1
L 4E2 4E2 -AA
L 4E3 4E3 -AB
L 4E4 4E4 -AC
L 4E5 4E5 -AD
L 4E6 4E6 -A8
L 4E7 4E7 -A9
L 4E8 4E8 1
L 4EA 4EA -1
L 4EB 4EB -2
L 4EC 4EC -9F
L 4ED 4ED -A0
L 4EE 4EE -AB
L 4EF 4EF -AC
L 4F0 4F0 -AD
L 4F1 4F1 -AE
L 4F2 4F2 -AF
L 4F3 4F3 -B0
L 4F4 4F4 -AD
L 4F5 4F5 -AE
L 4F6 4F6 1
L 4F8 4F8 -AD
L 4F9 4F9 -AE
L 4FA 4FA 1
L 4FC 4FC 1
L 4FE 4FE 1
L 500 500 1
L 502 502 1
L 504 504 1
L 506 506 1
L 508 508 1
L 50A 50A 1
L 50C 50C 1
L 50E 50E 1
L 510 510 1
L 512 512 1
L 514 514 1
L 516 516 1
L 518 518 1
L 51A 51A 1
L 51C 51C 1
L 51E 51E 1
L 520 520 1
L 522 522 1
L 524 524 1
L 526 526 1
L 528 528 1
L 52A 52A 1
L 52C 52C 1
L 52E 52E 1
L 531 556 30
L 622 622 5
L 623 623 4
L 624 624 24
L 625 625 2
L 626 626 24
L 6C0 6C0 15
L 6C2 6C2 -1
L 6D3 6D3 -1
L 929 929 -1
L 931 931 -1
L 934 934 -1
L 958 95A -43
L 95B 95B -3F
L 95C 95D -3B
L 95E 95E -33
L 95F 95F -30
L 9DC 9DD -3B
L 9DF 9DF -30
L A33 A33 -1
L A36 A36 2
L A59 A5A -43
L A5B A5B -3F
L A5E A5E -33
L B48 B48 -1
L B5C B5D -3B
L CC0 CC0 15
L CC7 CC8 E
L CCA CCA -8
L DDA DDA -1
L F43 F43 -1
L F4D F4D -1
L F52 F52 -1
L F57 F57 -1
L F5C F5C -1
L F69 F69 -29
L 1026 1026 -1
L 10A0 10C5 1C60
L 10C7 10C7 1C60
L 10CD 10CD 1C60
L 13A0 13EF 97D0
L 13F0 13F5 8
L 1B3B 1B3B -6
L 1B3D 1B3D -8
L 1B43 1B43 -E
L 1C89 1C89 1
L 1C90 1CBA -BC0
L 1CBD 1CBF -BC0
L 1E00 1E00 -1D9F
L 1E01 1E02 -1DA0
L 1E03 1E03 -1DA1
L 1E04 1E04 -1DA2
L 1E05 1E05 -1DA3
L 1E06 1E06 -1DA4
L 1E07 1E08 -1DA5
L 1E09 1E0A -1DA6
L 1E0B 1E0B -1DA7
L 1E0C 1E0C -1DA8
L 1E0D 1E0D -1DA9
L 1E0E 1E0E -1DAA
L 1E0F 1E0F -1DAB
L 1E10 1E10 -1DAC
L 1E11 1E11 -1DAD
L 1E12 1E12 -1DAE
L 1E13 1E14 -1DAF
L 1E15 1E15 -1DB0
L 1E16 1E16 -1DB1
L 1E17 1E17 -1DB2
L 1E18 1E18 -1DB3
L 1E19 1E19 -1DB4
L 1E1A 1E1A -1DB5
L 1E1B 1E1B -1DB6
L 1E1C 1E1C -1DB7
L 1E1D 1E1E -1DB8
L 1E1F 1E20 -1DB9
L 1E21 1E22 -1DBA
L 1E23 1E23 -1DBB
L 1E24 1E24 -1DBC
L 1E25 1E25 -1DBD
L 1E26 1E26 -1DBE
L 1E27 1E27 -1DBF
L 1E28 1E28 -1DC0
L 1E29 1E29 -1DC1
L 1E2A 1E2A -1DC2
L 1E2B 1E2C -1DC3
L 1E2D 1E2D -1DC4
L 1E2E 1E2E -1DC5
L 1E2F 1E2F -1DC6
L 1E30 1E30 -1DC5
L 1E31 1E31 -1DC6
L 1E32 1E32 -1DC7
L 1E33 1E33 -1DC8
L 1E34 1E34 -1DC9
L 1E35 1E36 -1DCA
L 1E37 1E37 -1DCB
L 1E38 1E38 -1DCC
L 1E39 1E39 -1DCD
L 1E3A 1E3A -1DCE
L 1E3B 1E3B -1DCF
L 1E3C 1E3C -1DD0
L 1E3D 1E3E -1DD1
L 1E3F 1E3F -1DD2
L 1E40 1E40 -1DD3
L 1E41 1E41 -1DD4
L 1E42 1E42 -1DD5
L 1E43 1E44 -1DD6
L 1E45 1E45 -1DD7
L 1E46 1E46 -1DD8
L 1E47 1E47 -1DD9
L 1E48 1E48 -1DDA
L 1E49 1E49 -1DDB
L 1E4A 1E4A -1DDC
L 1E4B 1E4C -1DDD
L 1E4D 1E4D -1DDE
L 1E4E 1E4E -1DDF
L 1E4F 1E4F -1DE0
L 1E50 1E50 -1DE1
L 1E51 1E51 -1DE2
L 1E52 1E52 -1DE3
L 1E53 1E54 -1DE4
L 1E55 1E55 -1DE5
L 1E56 1E56 -1DE6
L 1E57 1E57 -1DE7
L 1E58 1E58 -1DE6
L 1E59 1E59 -1DE7
L 1E5A 1E5A -1DE8
L 1E5B 1E5B -1DE9
L 1E5C 1E5C -1DEA
L 1E5D 1E5D -1DEB
L 1E5E 1E5E -1DEC
L 1E5F 1E60 -1DED
L 1E61 1E61 -1DEE
L 1E62 1E62 -1DEF
L 1E63 1E63 -1DF0
L 1E64 1E64 -1DF1
L 1E65 1E65 -1DF2
L 1E66 1E66 -1DF3
L 1E67 1E67 -1DF4
L 1E68 1E68 -1DF5
L 1E69 1E6A -1DF6
L 1E6B 1E6B -1DF7
L 1E6C 1E6C -1DF8
L 1E6D 1E6D -1DF9
L 1E6E 1E6E -1DFA
L 1E6F 1E6F -1DFB
L 1E70 1E70 -1DFC
L 1E71 1E72 -1DFD
L 1E73 1E73 -1DFE
L 1E74 1E74 -1DFF
L 1E75 1E75 -1E00
L 1E76 1E76 -1E01
L 1E77 1E77 -1E02
L 1E78 1E78 -1E03
L 1E79 1E79 -1E04
L 1E7A 1E7A -1E05
L 1E7B 1E7C -1E06
L 1E7D 1E7D -1E07
L 1E7E 1E7E -1E08
L 1E7F 1E80 -1E09
L 1E81 1E81 -1E0A
L 1E82 1E82 -1E0B
L 1E83 1E83 -1E0C
L 1E84 1E84 -1E0D
L 1E85 1E85 -1E0E
L 1E86 1E86 -1E0F
L 1E87 1E87 -1E10
L 1E88 1E88 -1E11
L 1E89 1E8A -1E12
L 1E8B 1E8B -1E13
L 1E8C 1E8C -1E14
L 1E8D 1E8E -1E15
L 1E8F 1E90 -1E16
L 1E91 1E91 -1E17
L 1E92 1E92 -1E18
L 1E93 1E93 -1E19
L 1E94 1E94 -1E1A
L 1E95 1E95 -1E1B
L 1E96 1E96 -1E2E
L 1E97 1E97 -1E23
L 1E98 1E98 -1E21
L 1E99 1E99 -1E20
L 1E9B 1E9B -1D1C
L 1E9E 1E9E -1DBF
L 1EA0 1EA0 -1E3F
L 1EA1 1EA1 -1E40
L 1EA2 1EA2 -1E41
L 1EA3 1EA3 -1E42
L 1EA4 1EA4 -1E43
L 1EA5 1EA5 -1E44
L 1EA6 1EA6 -1E45
L 1EA7 1EA7 -1E46
L 1EA8 1EA8 -1E47
L 1EA9 1EA9 -1E48
L 1EAA 1EAA -1E49
L 1EAB 1EAB -1E4A
L 1EAC 1EAC -1E4B
L 1EAD 1EAD -1E4C
L 1EAE 1EAE -1E4D
L 1EAF 1EAF -1E4E
L 1EB0 1EB0 -1E4F
L 1EB1 1EB1 -1E50
L 1EB2 1EB2 -1E51
L 1EB3 1EB3 -1E52
L 1EB4 1EB4 -1E53
L 1EB5 1EB5 -1E54
L 1EB6 1EB6 -1E55
L 1EB7 1EB7 -1E56
L 1EB8 1EB8 -1E53
L 1EB9 1EB9 -1E54
L 1EBA 1EBA -1E55
L 1EBB 1EBB -1E56
L 1EBC 1EBC -1E57
L 1EBD 1EBD -1E58
L 1EBE 1EBE -1E59
L 1EBF 1EBF -1E5A
L 1EC0 1EC0 -1E5B
L 1EC1 1EC1 -1E5C
L 1EC2 1EC2 -1E5D
L 1EC3 1EC3 -1E5E
L 1EC4 1EC4 -1E5F
L 1EC5 1EC5 -1E60
L 1EC6 1EC6 -1E61
L 1EC7 1EC7 -1E62
L 1EC8 1EC8 -1E5F
L 1EC9 1EC9 -1E60
L 1ECA 1ECA -1E61
L 1ECB 1ECB -1E62
L 1ECC 1ECC -1E5D
L 1ECD 1ECD -1E5E
L 1ECE 1ECE -1E5F
L 1ECF 1ECF -1E60
L 1ED0 1ED0 -1E61
L 1ED1 1ED1 -1E62
L 1ED2 1ED2 -1E63
L 1ED3 1ED3 -1E64
L 1ED4 1ED4 -1E65
L 1ED5 1ED5 -1E66
L 1ED6 1ED6 -1E67
L 1ED7 1ED7 -1E68
L 1ED8 1ED8 -1E69
L 1ED9 1ED9 -1E6A
L 1EDA 1EDA -1E6B
L 1EDB 1EDB -1E6C
L 1EDC 1EDC -1E6D
L 1EDD 1EDD -1E6E
L 1EDE 1EDE -1E6F
L 1EDF 1EDF -1E70
L 1EE0 1EE0 -1E71
L 1EE1 1EE1 -1E72
L 1EE2 1EE2 -1E73
L 1EE3 1EE3 -1E74
L 1EE4 1EE4 -1E6F
L 1EE5 1EE5 -1E70
L 1EE6 1EE6 -1E71
L 1EE7 1EE7 -1E72
L 1EE8 1EE8 -1E73
L 1EE9 1EE9 -1E74
L 1EEA 1EEA -1E75
L 1EEB 1EEB -1E76
L 1EEC 1EEC -1E77
L 1EED 1EED -1E78
L 1EEE 1EEE -1E79
L 1EEF 1EEF -1E7A
L 1EF0 1EF0 -1E7B
L 1EF1 1EF1 -1E7C
L 1EF2 1EF2 -1E79
L 1EF3 1EF3 -1E7A
L 1EF4 1EF4 -1E7B
L 1EF5 1EF5 -1E7C
L 1EF6 1EF6 -1E7D
L 1EF7 1EF7 -1E7E
L 1EF8 1EF8 -1E7F
L 1EF9 1EF9 -1E80
L 1EFA 1EFA 1
L 1EFC 1EFC 1
L 1EFE 1EFE 1
L 1F00 1F00 -1B4F
L 1F01 1F01 -1B50
L 1F02 1F02 -1B51
L 1F03 1F03 -1B52
L 1F04 1F04 -1B53
L 1F05 1F05 -1B54
L 1F06 1F06 -1B55
L 1F07 1F07 -1B56
L 1F08 1F08 -1B57
L 1F09 1F09 -1B58
L 1F0A 1F0A -1B59
L 1F0B 1F0B -1B5A
L 1F0C 1F0C -1B5B
L 1F0D 1F0D -1B5C
L 1F0E 1F0E -1B5D
L 1F0F 1F0F -1B5E
L 1F10 1F10 -1B5B
L 1F11 1F11 -1B5C
L 1F12 1F12 -1B5D
L 1F13 1F13 -1B5E
L 1F14 1F14 -1B5F
L 1F15 1F15 -1B60
L 1F18 1F18 -1B63
L 1F19 1F19 -1B64
L 1F1A 1F1A -1B65
L 1F1B 1F1B -1B66
L 1F1C 1F1C -1B67
L 1F1D 1F1D -1B68
L 1F20 1F20 -1B69
L 1F21 1F21 -1B6A
L 1F22 1F22 -1B6B
L 1F23 1F23 -1B6C
L 1F24 1F24 -1B6D
L 1F25 1F25 -1B6E
L 1F26 1F26 -1B6F
L 1F27 1F27 -1B70
L 1F28 1F28 -1B71
L 1F29 1F29 -1B72
L 1F2A 1F2A -1B73
L 1F2B 1F2B -1B74
L 1F2C 1F2C -1B75
L 1F2D 1F2D -1B76
L 1F2E 1F2E -1B77
L 1F2F 1F2F -1B78
L 1F30 1F30 -1B77
L 1F31 1F31 -1B78
L 1F32 1F32 -1B79
L 1F33 1F33 -1B7A
L 1F34 1F34 -1B7B
L 1F35 1F35 -1B7C
L 1F36 1F36 -1B7D
L 1F37 1F37 -1B7E
L 1F38 1F38 -1B7F
L 1F39 1F39 -1B80
L 1F3A 1F3A -1B81
L 1F3B 1F3B -1B82
L 1F3C 1F3C -1B83
L 1F3D 1F3D -1B84
L 1F3E 1F3E -1B85
L 1F3F 1F3F -1B86
L 1F40 1F40 -1B81
L 1F41 1F41 -1B82
L 1F42 1F42 -1B83
L 1F43 1F43 -1B84
L 1F44 1F44 -1B85
L 1F45 1F45 -1B86
L 1F48 1F48 -1B89
L 1F49 1F49 -1B8A
L 1F4A 1F4A -1B8B
L 1F4B 1F4B -1B8C
L 1F4C 1F4C -1B8D
L 1F4D 1F4D -1B8E
L 1F50 1F50 -1B8B
L 1F51 1F51 -1B8C
L 1F52 1F52 -1B8D
L 1F53 1F53 -1B8E
L 1F54 1F54 -1B8F
L 1F55 1F55 -1B90
L 1F56 1F56 -1B91
L 1F57 1F57 -1B92
L 1F59 1F59 -1B94
L 1F5B 1F5B -1B96
L 1F5D 1F5D -1B98
L 1F5F 1F5F -1B9A
L 1F60 1F60 -1B97
L 1F61 1F61 -1B98
L 1F62 1F62 -1B99
L 1F63 1F63 -1B9A
L 1F64 1F64 -1B9B
L 1F65 1F65 -1B9C
L 1F66 1F66 -1B9D
L 1F67 1F67 -1B9E
L 1F68 1F68 -1B9F
L 1F69 1F69 -1BA0
L 1F6A 1F6A -1BA1
L 1F6B 1F6B -1BA2
L 1F6C 1F6C -1BA3
L 1F6D 1F6D -1BA4
L 1F6E 1F6E -1BA5
L 1F6F 1F6F -1BA6
L 1F70 1F70 -1BBF
L 1F71 1F71 -1BC0
L 1F72 1F72 -1BBD
L 1F73 1F73 -1BBE
L 1F74 1F74 -1BBD
L 1F75 1F75 -1BBE
L 1F76 1F76 -1BBD
L 1F77 1F77 -1BBE
L 1F78 1F78 -1BB9
L 1F79 1F79 -1BBA
L 1F7A 1F7A -1BB5
L 1F7B 1F7B -1BB6
L 1F7C 1F7C -1BB3
L 1F7D 1F7D -1BB4
L 1F80 1F80 -1BCF
L 1F81 1F81 -1BD0
L 1F82 1F82 -1BD1
L 1F83 1F83 -1BD2
L 1F84 1F84 -1BD3
L 1F85 1F85 -1BD4
L 1F86 1F86 -1BD5
L 1F87 1F87 -1BD6
L 1F88 1F88 -1BD7
L 1F89 1F89 -1BD8
L 1F8A 1F8A -1BD9
L 1F8B 1F8B -1BDA
L 1F8C 1F8C -1BDB
L 1F8D 1F8D -1BDC
L 1F8E 1F8E -1BDD
L 1F8F 1F8F -1BDE
L 1F90 1F90 -1BD9
L 1F91 1F91 -1BDA
L 1F92 1F92 -1BDB
L 1F93 1F93 -1BDC
L 1F94 1F94 -1BDD
L 1F95 1F95 -1BDE
L 1F96 1F96 -1BDF
L 1F97 1F97 -1BE0
L 1F98 1F98 -1BE1
L 1F99 1F99 -1BE2
L 1F9A 1F9A -1BE3
L 1F9B 1F9B -1BE4
L 1F9C 1F9C -1BE5
L 1F9D 1F9D -1BE6
L 1F9E 1F9E -1BE7
L 1F9F 1F9F -1BE8
L 1FA0 1FA0 -1BD7
L 1FA1 1FA1 -1BD8
L 1FA2 1FA2 -1BD9
L 1FA3 1FA3 -1BDA
L 1FA4 1FA4 -1BDB
L 1FA5 1FA5 -1BDC
L 1FA6 1FA6 -1BDD
L 1FA7 1FA7 -1BDE
L 1FA8 1FA8 -1BDF
L 1FA9 1FA9 -1BE0
L 1FAA 1FAA -1BE1
L 1FAB 1FAB -1BE2
L 1FAC 1FAC -1BE3
L 1FAD 1FAD -1BE4
L 1FAE 1FAE -1BE5
L 1FAF 1FAF -1BE6
L 1FB0 1FB0 -1BFF
L 1FB1 1FB1 -1C00
L 1FB2 1FB2 -1C01
L 1FB3 1FB3 -1C02
L 1FB4 1FB4 -1C03
L 1FB6 1FB6 -1C05
L 1FB7 1FB7 -1C06
L 1FB8 1FB8 -1C07
L 1FB9 1FB9 -1C08
L 1FBA 1FBA -1C09
L 1FBB 1FBB -1C0A
L 1FBC 1FBC -1C0B
L 1FBE 1FBE -1C05
L 1FC1 1FC1 -1F19
L 1FC2 1FC2 -1C0B
L 1FC3 1FC3 -1C0C
L 1FC4 1FC4 -1C0D
L 1FC6 1FC6 -1C0F
L 1FC7 1FC7 -1C10
L 1FC8 1FC8 -1C13
L 1FC9 1FC9 -1C14
L 1FCA 1FCA -1C13
L 1FCB 1FCB -1C14
L 1FCC 1FCC -1C15
L 1FCD 1FCD -E
L 1FCE 1FCE -F
L 1FCF 1FCF -10
L 1FD0 1FD0 -1C17
L 1FD1 1FD1 -1C18
L 1FD2 1FD2 -1C19
L 1FD3 1FD3 -1C1A
L 1FD6 1FD6 -1C1D
L 1FD7 1FD7 -1C1E
L 1FD8 1FD8 -1C1F
L 1FD9 1FD9 -1C20
L 1FDA 1FDA -1C21
L 1FDB 1FDB -1C22
L 1FDD 1FDD 21
L 1FDE 1FDE 20
L 1FDF 1FDF 1F
L 1FE0 1FE0 -1C1B
L 1FE1 1FE1 -1C1C
L 1FE2 1FE2 -1C1D
L 1FE3 1FE3 -1C1E
L 1FE4 1FE4 -1C23
L 1FE5 1FE5 -1C24
L 1FE6 1FE6 -1C21
L 1FE7 1FE7 -1C22
L 1FE8 1FE8 -1C23
L 1FE9 1FE9 -1C24
L 1FEA 1FEA -1C25
L 1FEB 1FEB -1C26
L 1FEC 1FEC -1C2B
L 1FED 1FED -1F45
L 1FEE 1FEE -1F46
L 1FEF 1FEF -1F8F
L 1FF2 1FF2 -1C29
L 1FF3 1FF3 -1C2A
L 1FF4 1FF4 -1C2B
L 1FF6 1FF6 -1C2D
L 1FF7 1FF7 -1C2E
L 1FF8 1FF8 -1C39
L 1FF9 1FF9 -1C3A
L 1FFA 1FFA -1C31
L 1FFB 1FFB -1C32
L 1FFC 1FFC -1C33
L 1FFD 1FFD -1F49
L 2126 2126 -1D5D
L 212A 212A -20BF
L 212B 212B -20CA
L 2132 2132 1C
L 2160 216F 10
L 2183 2183 1
L 219A 219A -A
L 219B 219B -9
L 21AE 21AE -1A
L 21CD 21CD 3
L 21CE 21CE 6
L 21CF 21CF 3
L 2204 2204 -1
L 2209 2209 -1
L 220C 220C -1
L 2224 2224 -1
L 2226 2226 -1
L 2241 2241 -5
L 2244 2244 -1
L 2247 2247 -2
L 2249 2249 -1
L 2260 2260 -2223
L 2262 2262 -1
L 226D 226D -20
L 226E 226E -2232
L 226F 226F -2231
L 2270 2271 -C
L 2274 2275 -2
L 2278 2279 -2
L 2280 2281 -6
L 2284 2285 -2
L 2288 2289 -2
L 22AC 22AC -A
L 22AD 22AE -5
L 22AF 22AF -4
L 22E0 22E1 -64
L 22E2 22E3 -51
L 22EA 22ED -38
L 2329 232A CDF
L 24B6 24CF 1A
L 2ADC 2ADC 1
L 2C00 2C2F 30
L 2C60 2C60 1
L 2C62 2C62 -29F7
L 2C63 2C63 -EE6
L 2C64 2C64 -29E7
L 2C67 2C67 1
L 2C69 2C69 1
L 2C6B 2C6B 1
L 2C6D 2C6D -2A1C
L 2C6E 2C6E -29FD
L 2C6F 2C6F -2A1F
L 2C70 2C70 -2A1E
L 2C72 2C72 1
L 2C75 2C75 1
L 2C7E 2C7F -2A3F
L 2C80 2C80 1
L 2C82 2C82 1
L 2C84 2C84 1
L 2C86 2C86 1
L 2C88 2C88 1
L 2C8A 2C8A 1
L 2C8C 2C8C 1
L 2C8E 2C8E 1
L 2C90 2C90 1
L 2C92 2C92 1
L 2C94 2C94 1
L 2C96 2C96 1
L 2C98 2C98 1
L 2C9A 2C9A 1
L 2C9C 2C9C 1
L 2C9E 2C9E 1
L 2CA0 2CA0 1
L 2CA2 2CA2 1
L 2CA4 2CA4 1
L 2CA6 2CA6 1
L 2CA8 2CA8 1
L 2CAA 2CAA 1
L 2CAC 2CAC 1
L 2CAE 2CAE 1
L 2CB0 2CB0 1
L 2CB2 2CB2 1
L 2CB4 2CB4 1
L 2CB6 2CB6 1
L 2CB8 2CB8 1
L 2CBA 2CBA 1
L 2CBC 2CBC 1
L 2CBE 2CBE 1
L 2CC0 2CC0 1
L 2CC2 2CC2 1
L 2CC4 2CC4 1
L 2CC6 2CC6 1
L 2CC8 2CC8 1
L 2CCA 2CCA 1
L 2CCC 2CCC 1
L 2CCE 2CCE 1
L 2CD0 2CD0 1
L 2CD2 2CD2 1
L 2CD4 2CD4 1
L 2CD6 2CD6 1
L 2CD8 2CD8 1
L 2CDA 2CDA 1
L 2CDC 2CDC 1
L 2CDE 2CDE 1
L 2CE0 2CE0 1
L 2CE2 2CE2 1
L 2CEB 2CEB 1
L 2CED 2CED 1
L 2CF2 2CF2 1
L 304C 304C -1
L 304E 304E -1
L 3050 3050 -1
L 3052 3052 -1
L 3054 3054 -1
L 3056 3056 -1
L 3058 3058 -1
L 305A 305A -1
L 305C 305C -1
L 305E 305E -1
L 3060 3060 -1
L 3062 3062 -1
L 3065 3065 -1
L 3067 3067 -1
L 3069 3069 -1
L 3070 3070 -1
L 3071 3071 -2
L 3073 3073 -1
L 3074 3074 -2
L 3076 3076 -1
L 3077 3077 -2
L 3079 3079 -1
L 307A 307A -2
L 307C 307C -1
L 307D 307D -2
L 3094 3094 -4E
L 309E 309E -1
L 30AC 30AC -1
L 30AE 30AE -1
L 30B0 30B0 -1
L 30B2 30B2 -1
L 30B4 30B4 -1
L 30B6 30B6 -1
L 30B8 30B8 -1
L 30BA 30BA -1
L 30BC 30BC -1
L 30BE 30BE -1
L 30C0 30C0 -1
L 30C2 30C2 -1
L 30C5 30C5 -1
L 30C7 30C7 -1
L 30C9 30C9 -1
L 30D0 30D0 -1
L 30D1 30D1 -2
L 30D3 30D3 -1
L 30D4 30D4 -2
L 30D6 30D6 -1
L 30D7 30D7 -2
L 30D9 30D9 -1
L 30DA 30DA -2
L 30DC 30DC -1
L 30DD 30DD -2
L 30F4 30F4 -4E
L 30F7 30FA -8
L 30FE 30FE -1
L A640 A640 1
L A642 A642 1
L A644 A644 1
L A646 A646 1
L A648 A648 1
L A64A A64A 1
L A64C A64C 1
L A64E A64E 1
L A650 A650 1
L A652 A652 1
L A654 A654 1
L A656 A656 1
L A658 A658 1
L A65A A65A 1
L A65C A65C 1
L A65E A65E 1
L A660 A660 1
L A662 A662 1
L A664 A664 1
L A666 A666 1
L A668 A668 1
L A66A A66A 1
L A66C A66C 1
L A680 A680 1
L A682 A682 1
L A684 A684 1
L A686 A686 1
L A688 A688 1
L A68A A68A 1
L A68C A68C 1
L A68E A68E 1
L A690 A690 1
L A692 A692 1
L A694 A694 1
L A696 A696 1
L A698 A698 1
L A69A A69A 1
L A722 A722 1
L A724 A724 1
L A726 A726 1
L A728 A728 1
L A72A A72A 1
L A72C A72C 1
L A72E A72E 1
L A732 A732 1
L A734 A734 1
L A736 A736 1
L A738 A738 1
L A73A A73A 1
L A73C A73C 1
L A73E A73E 1
L A740 A740 1
L A742 A742 1
L A744 A744 1
L A746 A746 1
L A748 A748 1
L A74A A74A 1
L A74C A74C 1
L A74E A74E 1
L A750 A750 1
L A752 A752 1
L A754 A754 1
L A756 A756 1
L A758 A758 1
L A75A A75A 1
L A75C A75C 1
L A75E A75E 1
L A760 A760 1
L A762 A762 1
L A764 A764 1
L A766 A766 1
L A768 A768 1
L A76A A76A 1
L A76C A76C 1
L A76E A76E 1
L A779 A779 1
L A77B A77B 1
L A77D A77D -8A04
L A77E A77E 1
L A780 A780 1
L A782 A782 1
L A784 A784 1
L A786 A786 1
L A78B A78B 1
L A78D A78D -A528
L A790 A790 1
L A792 A792 1
L A796 A796 1
L A798 A798 1
L A79A A79A 1
L A79C A79C 1
L A79E A79E 1
L A7A0 A7A0 1
L A7A2 A7A2 1
L A7A4 A7A4 1
L A7A6 A7A6 1
L A7A8 A7A8 1
L A7AA A7AA -A544
L A7AB A7AB -A54F
L A7AC A7AC -A54B
L A7AD A7AD -A541
L A7AE A7AE -A544
L A7B0 A7B0 -A512
L A7B1 A7B1 -A52A
L A7B2 A7B2 -A515
L A7B3 A7B3 3A0
L A7B4 A7B4 1
L A7B6 A7B6 1
L A7B8 A7B8 1
L A7BA A7BA 1
L A7BC A7BC 1
L A7BE A7BE 1
L A7C0 A7C0 1
L A7C2 A7C2 1
L A7C4 A7C4 -30
L A7C5 A7C5 -A543
L A7C6 A7C6 -8A38
L A7C7 A7C7 1
L A7C9 A7C9 1
L A7CB A7CB -A567
L A7CC A7CC 1
L A7CE A7CE 1
L A7D0 A7D0 1
L A7D2 A7D2 1
L A7D4 A7D4 1
L A7D6 A7D6 1
L A7D8 A7D8 1
L A7DA A7DA 1
L A7DC A7DC -A641
L A7F5 A7F5 1
L FB1D FB1D -F544
L FB1F FB1F -F52D
L FB2A FB2A -F541
L FB2B FB2B -F542
L FB2C FB2C -F543
L FB2D FB2D -F544
L FB2E FB2E -F55E
L FB2F FB2F -F55F
L FB30 FB36 -F560
L FB38 FB3C -F560
L FB3E FB3E -F560
L FB40 FB41 -F560
L FB43 FB44 -F560
L FB46 FB4A -F560
L FB4B FB4B -F576
L FB4C FB4C -F57B
L FB4D FB4D -F572
L FB4E FB4E -F56A
L FF21 FF3A 20
L 10400 10427 28
L 104B0 104D3 28
L 10570 1057A 27
L 1057C 1058A 27
L 1058C 10592 27
L 10594 10595 27
L 10C80 10CB2 40
L 10D50 10D65 20
L 1109A 1109A -1
L 1109C 1109C -1
L 110AB 110AB -6
L 114BB 114BB -2
L 118A0 118BF 20
L 16E40 16E5F 20
L 16EA0 16EB8 1B
L 1E900 1E921 22
O 8D4 8E1 E6
O 1B44 1B44 9
O 1BAA 1BAA 9
O 1BF2 1BF3 9
O 1DFB 1DFB E6
O 302E 302F E0
O A953 A953 9
O A9C0 A9C0 9
O 111C0 111C0 9
O 11235 11235 9
O 1134D 1134D 9
O 11442 11442 9
O 11446 11446 7
O 116B6 116B6 9
O 11C3F 11C3F 9
O 1D165 1D166 D8
O 1D16D 1D16D E2
O 1D16E 1D172 D8
O 1E000 1E006 E6
O 1E008 1E018 E6
O 1E01B 1E021 E6
O 1E023 1E024 E6
O 1E026 1E02A E6
O 1E944 1E949 E6
O 1E94A 1E94A 7
`;var Ds=1,Ms=2,bs=4,_s=8,vs=16,ws={D:Ds,S:Ms,C:bs,P:_s,A:vs},yr={first:44032,last:55203},jt=new Uint8Array(1114112),Dr=new Map,zt=new Map;for(let e of Ls.split(`
`)){let[t="#",...r]=e.split(" ");if(t.startsWith("#")||!r.length)continue;let[n=0,s=0,...o]=r.map(i=>i.startsWith("-")?-Number.parseInt(i.slice(1),16):Number.parseInt(i,16));for(let i=n;i<=s;i++)t in ws?jt[i]=jt[i]|ws[t]:t==="M"?Dr.set(i,o):t==="L"?Dr.set(i,[i+o[0]]):t==="O"&&zt.set(i,o[0])}function ks(e,t){let r=[];for(let s of e){let o=s.codePointAt(0),i=jt[o];i&Ds||t&&i&vs||(i&Ms?r.push(32):i&bs?r.push(32,...t?ys(o):[o],32):t?r.push(...ys(o)):r.push(o))}t&&ec(r);let n="";for(let s=0;s<r.length;s+=4096)n+=String.fromCodePoint(...r.slice(s,s+4096));return n}function Ts(e){let t=[],r="";for(let n of e){let s=jt[n.codePointAt(0)]&_s;if(n!==" "&&!s){r+=n;continue}r&&t.push(r),s&&t.push(n),r=""}return r&&t.push(r),t}function ys(e){if(e<yr.first||e>yr.last)return Dr.get(e)??[e];let t=e-yr.first,r=[4352+Math.floor(t/588),4449+Math.floor(t/28)%21];return t%28?[...r,4519+t%28]:r}function ec(e){let t=0;for(let r=0;r<=e.length;r++)if(!(r<e.length&&zt.has(e[r]))){if(r-t>1){let n=e.slice(t,r).sort((s,o)=>(zt.get(s)??0)-(zt.get(o)??0));e.splice(t,n.length,...n)}t=r+1}}ve();Ae();x();ve();Ae();x();var tc=3,rc=24,xs=4,nc=2e4,sc=50,oc=1e3,ic=8,ac=2,Ps=16,lc=2,cc=6,uc=64,Rs=5e5,Fc=4096,dc=4096,fc=/(?<![^ \t-\r"(\[-])[A-Za-z]{3,24}(?=[ \t-\r,;:!?")\]-]|\.?(?![^])|\.[ \t-\r]|'s)/gu,pc=/^[a-z]{3,24}$/,Os=[..."abcdefghijklmnopqrstuvwxyz"],Ss=["qwertyuiop","asdfghjkl","zxcvbnm"],$s=new Map(Ss.flatMap((e,t)=>[...e].map((r,n)=>[r,[[0,-1],[0,1],[-1,0],[-1,1],[1,0],[1,-1]].flatMap(([s=0,o=0])=>Ss[t+s]?.[n+o]??[])]))),Ac=new Map([...$s].map(([e,t])=>[e,Os.filter(r=>!t.includes(r))])),Qe=new Set,Mr=class e{constructor(t,r){this.lines=t;this.own=r}lines;own;lookedUp=new Map;static of(t){return new e(new Map(t.map((r,n)=>[r,n+1])),Qe)}keeping(t){return new e(this.lines,new Set(t.flatMap(r=>[...ft(r)])))}corrected(t){return this.replaced(t,Qe,Qe)}correctedPair(t,r){let[n,s]=[ft(t),ft(r)],o=ft(this.replaced(r,Qe,n)),i=ft(this.replaced(t,Qe,s));return[this.replaced(t,o,s),this.replaced(r,i,n)]}replaced(t,r,n){let s=[],o=0,i=t.search(/[A-Za-z]/);for(let{word:a,start:l}of Is(t)){let c=a.toLowerCase(),F=n.has(c)||this.own.has(c)?void 0:this.correction(a,r,l===i);F!==void 0&&(s.push(t.slice(o,l),F),o=l+a.length)}return s.join("")+t.slice(o)}correction(t,r,n){let s=t.toLowerCase(),o=this.lines.get(s),i=t[1]!==s[1];if(t.slice(2)!==s.slice(2)||i&&t.length<xs)return;let a=i||t[0]!==s[0]&&!n;if(a&&(o!==void 0||t.length<xs)||o!==void 0&&o<=nc)return;let l=oc*2**Math.min(t.length-Number(a),ic);o!==void 0&&(l=Math.min(l,Math.floor(o/sc)));let c=o!==void 0?Qe:r,F=this.near(s),u=F.find(d=>c.has(d[2]))??F[0];return u&&(c.has(u[2])||u[0]<=l)?u[2]:s.length>=cc?this.twoEditsOff(s,c):void 0}near(t){let r=this.lookedUp.get(t);if(!r){let n=[];for(let[s,o]of Ec(t)){let i=this.lines.get(o);i!==void 0&&n.push([i*s,i,o])}r=n.sort((s,o)=>s[0]-o[0]||s[1]-o[1]),this.lookedUp.size>=Fc&&this.lookedUp.clear(),this.lookedUp.set(t,r)}return r}twoEditsOff(t,r){let n=o=>this.lines.get(o);return[...r].filter(o=>o[0]===t[0]&&this.lines.has(o)).sort((o,i)=>n(o)-n(i)).slice(0,uc).find(o=>pt(o,t,2))}};function Ns(e,t){let r=`${t}/${_e}`,n=J(e.get(_e),r).split(`
`);if(n.pop()!==""||n.length<1||n.length>Rs)throw new C(`${r}: expected 1 to ${Rs} lines, each with an end`);let s=n.findIndex(o=>!pc.test(o));if(s>=0||new Set(n).size<n.length){let o=s>=0?`line ${s+1} is ${M(n[s])}`:"a word is there twice";throw new C(`${r}: ${o}; expected other words of ${tc} to ${rc} letters a to z`)}return Mr.of(n)}function*Is(e){let t=hc(e,dc);for(let r of e.matchAll(fc)){if(r.index>=t)return;yield{word:r[0],start:r.index}}}function hc(e,t){if(e.length<=t)return e.length;let r=0;for(let n=0;n<t&&r<e.length;n++)r+=e.codePointAt(r)>65535?2:1;return r}function ft(e){return new Set([...Is(e)].map(({word:t})=>t.toLowerCase()))}function pt(e,t,r){let n=0;for(;n<Math.min(e.length,t.length)&&e[n]===t[n];)n++;let[s,o]=[e.slice(n),t.slice(n)];return!s||!o||r===0?s.length+o.length<=r:pt(s.slice(1),o.slice(1),r-1)||pt(s.slice(1),o,r-1)||pt(s,o.slice(1),r-1)||s.length>1&&s[1]===o[0]&&s[0]===o[1]&&pt(s.slice(2),o.slice(2),r-1)}function*Ec(e){for(let t=0;t<=e.length;t++){let[r,n]=[e.slice(0,t),e.slice(t)],s=t===0?lc:1;for(let l of Os)yield[s,r+l+n];if(!n)continue;let[o,i]=[n[0],n.slice(1)],a=o===r.at(-1)||o===n[1];yield[s*(a?1:Ps),r+i];for(let l of $s.get(o)??[])yield[s*ac,r+l+i];for(let l of Ac.get(o)??[])yield[s*Ps,r+l+i];n.length>1&&(yield[1,r+n[1]+o+n.slice(2)])}}Dt();Ae();Dt();var mc=100,Pe=2**32-1;function js(e,t){if(!Hs(e.data))throw e.fault("a number is out of range");if(e.has("version")&&e.data.version!=="1.0")throw e.fault("version is not 1.0");yc(e),Dc(e),Mc(e);for(let n of e.has("added_tokens")?e.objects("added_tokens",Number.MAX_SAFE_INTEGER):[])if(n.anyText("content"),n.integer("id",0,Pe),["special","single_word","lstrip","rstrip","normalized"].map(o=>n.truth(o))[1])throw n.fault("is a whole word only (single_word), which this package does not know");let r=gc(e);if(r!==t.kind)throw e.fault(`is no ${t.kind}, as io.json says`);r==="wordpiece"&&wc(e,t.lowercase)}function Ws(e){let t=e.object("model"),r=new Map;if(Array.isArray(t.data.vocab))for(let[s,o]of t.array("vocab",Number.MAX_SAFE_INTEGER).entries()){if(!Array.isArray(o)||o.length!==2||typeof o[0]!="string"||typeof o[1]!="number")throw t.fault("vocab holds what is no token with a score");r.set(o[0],s)}else{let s=t.object("vocab");for(let o of Object.keys(s.data))r.set(o,s.integer(o,0,Pe))}let n=r.size;for(let s of e.has("added_tokens")?e.objects("added_tokens",Number.MAX_SAFE_INTEGER):[]){let o=s.anyText("content");o&&(r.has(o)||r.set(o,n),n=Math.max(n,r.get(o)+1))}return r}function vr(e,t){return new De(e.lacks("post_processor")?br(t):Gs(e.object("post_processor"),t))}function Gs(e,t){let r=Us(e,"trim_offsets")&&Us(e,"add_prefix_space"),n=zs(e,"sep"),s=zs(e,"cls");if(n!==null&&s!==null)return Cc(s,n,r,t);if(r&&e.data.type==="ByteLevel")return br(t);if(e.has("single")&&e.has("pair")&&e.has("special_tokens"))return Bc(e,t);if(e.data.type==="Sequence")return e.objects("processors",8).map(i=>({one:i,found:Gs(i,t)})).find(({one:i})=>i.data.type!=="ByteLevel")?.found??br(t);throw e.fault("post_processor is not one that this package knows")}function br(e){return e?[{id:"A",type:0},{id:"B",type:1}]:[{id:"A",type:0}]}function Cc(e,t,r,n){let s=r?0:1,o={id:t,type:0},i=[{id:e,type:0},{id:"A",type:0},o];return n?[...i,...r?[o]:[],{id:"B",type:s},{id:t,type:s}]:i}function Bc(e,t){let r=e.object("special_tokens"),n=new Map;for(let i of Object.keys(r.data)){let a=r.object(i);a.anyText("id");let l=a.array("ids",64).map(F=>new G({id:F},a.where).integer("id",0,Pe)),c=a.array("tokens",64);if(c.length!==l.length||c.some(F=>typeof F!="string"))throw a.fault("its tokens are not a name for each id");n.set(i,l)}let s=i=>e.objects(i,64).flatMap(a=>{let l=a.has("Sequence"),c=a.object(l?"Sequence":"SpecialToken"),F=c.integer("type_id",0,Pe),u=c.anyText("id");if(l){if(u!=="A"&&u!=="B")throw c.fault("id is neither A nor B");return[{id:u,type:F}]}let d=n.get(u);if(!d)throw c.fault(`has no special token ${M(u)}`);return d.map(f=>({id:f,type:F}))}),o={single:s("single"),pair:s("pair")};return t?o.pair:o.single}function Us(e,t){return typeof e.data[t]=="boolean"}function zs(e,t){let r=e.data[t];return Array.isArray(r)&&r.length===2&&typeof r[0]=="string"&&Number.isInteger(r[1])&&r[1]>=0&&r[1]<=Pe?r[1]:null}function gc(e){let t=e.object("model"),r=t.lacks("type")?t.has("merges")?"BPE":"WordPiece":t.anyText("type");return r==="WordPiece"?"wordpiece":r==="Unigram"?"unigram":r!=="BPE"?null:!(!t.lacks("dropout")&&t.number("dropout",0,1)>0)&&qs(e.data.pre_tokenizer).includes("ByteLevel")?"byte-level-bpe":null}function qs(e){if(e===null||typeof e!="object"||Array.isArray(e))return[];let t=Array.isArray(e.pretokenizers)?e.pretokenizers:[];return[e.type??null,...t.flatMap(qs)]}var Lc=["Strip","StripAccents","NFC","NFD","NFKC","NFKD","Sequence","Lowercase","Nmt","Precompiled","Replace","Prepend","ByteLevel"];function wc(e,t){let r=e.object("normalizer");if(Lc.includes(r.data.type))throw r.fault("normalizer is not BertNormalizer");let n=r.truth("clean_text")&&r.truth("handle_chinese_chars"),s=r.lacks("strip_accents")||r.truth("strip_accents")===t,o=r.truth("lowercase")===t,i=e.object("pre_tokenizer");if(i.data.type!=="BertPreTokenizer")throw i.fault("pre_tokenizer is not BertPreTokenizer");let a=e.object("model"),l=a.anyText("unk_token")==="[UNK]"&&a.object("vocab").has("[UNK]"),c=a.anyText("continuing_subword_prefix")==="##",F=a.integer("max_input_chars_per_word",0,Number.MAX_SAFE_INTEGER)===mc,u=e.has("added_tokens")&&e.objects("added_tokens",1<<20).some(d=>!/^[!-~]*$/.test(d.anyText("content")));if(!(n&&s&&o&&l&&c&&F)||u)throw e.fault(`is not a ${t?"lowercase":"cased"} BERT's WordPiece`)}function yc(e){if(e.lacks("truncation"))return;let t=e.object("truncation");t.integer("max_length",0,Number.MAX_VALUE),t.integer("stride",0,Number.MAX_VALUE),_r(t,"strategy",["LongestFirst","OnlyFirst","OnlySecond"]),t.has("direction")&&_r(t,"direction",["Left","Right"])}function Dc(e){if(e.lacks("padding"))return;let t=e.object("padding");if(_r(t,"direction",["Left","Right"]),t.integer("pad_id",0,Pe),t.integer("pad_type_id",0,Pe),t.anyText("pad_token"),t.lacks("pad_to_multiple_of")||t.integer("pad_to_multiple_of",0,Number.MAX_VALUE),t.data.strategy==="BatchLongest")return;let r=t.object("strategy");if(r.integer("Fixed",0,Number.MAX_VALUE),Object.keys(r.data).length>1)throw r.fault("padding strategy has more than one member")}function Mc(e){if(e.lacks("decoder"))return;let t=r=>{let{data:n}=r,s=(F,...u)=>u.every(d=>typeof n[d]===F&&n[d]!==null);if(n.type==="Sequence")return r.objects("decoders",1024).forEach(t);let o=n.type==="Fuse"||n.type==="ByteFallback"||n.type==="ByteLevel"&&s("boolean","add_prefix_space","trim_offsets")||n.type==="Metaspace"&&s("string","replacement"),i=s("string","suffix")||s("string","prefix")&&s("boolean","cleanup"),a=s("string","pad_token","word_delimiter_token")&&s("boolean","cleanup"),l=s("object","pattern")&&s("string","content"),c=s("string","content")&&s("number","start","stop");if(!(o||i||a||l||c))throw r.fault("decoder is of a type that is not known")};t(e.object("decoder"))}function _r(e,t,r){if(!r.includes(e.anyText(t)))throw e.fault(`${t} is none of ${r.join(", ")}`)}function Hs(e){return typeof e=="number"?Number.isFinite(e):e===null||typeof e!="object"||Object.values(e).every(Hs)}var bc=16,Vs=/[ \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\u4e00-\u9fff!?.,;]/g,Wt=class e{constructor(t,r,n,s,o,i,a){this.library=t;this.single=r;this.pair=n;this.padId=s;this.corrector=o;this.sortTexts=i;this.cuts=a}library;single;pair;padId;corrector;sortTexts;cuts;static read(t,r,n){let s=t.tokenizer,o=`${n}/${be}`,i=Je(J(r.get(be),o),o,"tokenizer"),a=new G(i,o),l=s.spelling?Ns(r,n):null;js(a,s);let c=Ws(a),F=s.kind==="wordpiece";F&&xc(c,J(r.get(ct),n),o);let u=De.of(s.single,p=>c.get(p)),d=s.pair&&De.of(s.pair,p=>c.get(p));if(!u?.equals(vr(a,!1))||s.pair&&!d?.equals(vr(a,!0)))throw a.fault("its template is not that of io.json");if(![...c.values()].includes(s.padId))throw a.fault(`has no token ${s.padId}, which pads its texts`);let f=kc(a,F,s.lowercase);return F&&Tc(f,s.lowercase),new e(f,u,d,s.padId,l,s.sortTexts,F)}withCorrector(t){return new e(this.library,this.single,this.pair,this.padId,t,this.sortTexts,this.cuts)}encode(t,r){return t.map(n=>{let[s="",o]=this.corrected(n);if(o===void 0)return this.single.fill(this.tokens(s,r).slice(0,r-this.single.size));let i=this.pair,a=[this.tokens(s,r),this.tokens(o,r)];if(this.sortTexts){let[F,u]=[a[0].slice(0,r),a[1].slice(0,r)];a=_c(u,F)?[u,F]:[F,u]}let[l,c]=this.kept(s,o,a[0].length,a[1].length,r-i.size);return i.fill(a[0].slice(0,l),a[1].slice(0,c))})}confuses(t,r,n){let s=this.pair,[o,i]=s.specials,a=Math.floor((r.length-s.size)/2),l=(r.length-s.size)%2;if(l&&r.length<n)return!1;let c=r.slice(o,o+a).join(),F=[0,l].map(f=>o+a+f+i).map(f=>r.slice(f,f+a).join());if(c&&!F.includes(c))return!1;let[u="",d=""]=this.corrected(t);return u!==d&&!(c&&zn(u,d))}corrected(t){if(!this.corrector)return t;let[r="",n]=t;return n===void 0?[this.corrector.corrected(r)]:this.corrector.correctedPair(r,n)}tokens(t,r){for(let n=bc*r;;n*=4){let s=this.cuts?vc(t,n):t,o=this.library.encode(s,{add_special_tokens:!1}).ids;if(s.length===t.length||o.length>=r)return o}}kept(t,r,n,s,o){if(n+s<=o)return[n,s];let i=Math.floor(o/2),a=Math.min(n,s);return a<=i?n===a?[n,o-n]:[o-s,s]:o%2===1&&(this.sortTexts?n>s:this.count(t)>this.count(r))?[o-i,i]:[i,o-i]}count(t){return this.library.encode(t,{add_special_tokens:!1}).ids.length}};function _c(e,t){let r=e.findIndex((n,s)=>n!==t[s]);return r<0?e.length<t.length:r<t.length&&e[r]<t[r]}function vc(e,t){if(e.length<=t)return e;Vs.lastIndex=t;let r=Vs.exec(e);return r?e.slice(0,r.index):e}function kc(e,t,r){let n=e.data.model,s={normalizer:{type:"BertNormalizer",clean_text:!0,handle_chinese_chars:!0,strip_accents:null,lowercase:r},pre_tokenizer:{type:"BertPreTokenizer"},model:{...n,type:"WordPiece"}},o={added_tokens:[],normalizer:null,pre_tokenizer:null,...e.data,...t?s:{}};try{return new gs({...o,post_processor:null,decoder:null},{})}catch(i){throw e.fault(`damaged (${V(i)})`)}}function Tc(e,t){e.normalizer=(r=>ks(r,t)),e.pre_tokenizer=(r=>Ts(r))}function xc(e,t,r){let n=t.split(`
`);n.at(-1)===""&&n.pop();let s=new Map(n.map((o,i)=>[o,i]));if(s.size!==e.size||[...s].some(([o,i])=>e.get(o)!==i))throw new C(`${r}: its entries are not those of ${ct}; export the artefact again`)}var Js=1024,Pc=[ne,xe,me];async function Ks(e,t,r){let n=t.threads??1;if(!(Number.isInteger(n)&&n>=1&&n<=Js))throw new D(`threads is ${n}; give 1 to ${Js}`);let{card:s,files:o,fingerprint:i}=await jn(e,t.onProgress),a=Pc.find(p=>p.reads(s));if(!a)throw new C(`${e.name}: is for ${s.task}, which this package does not do; run it in Python or on Android`);let[l,c]=Rc(Wt.read(s,o,e.name),t),F=`${e.name}/${s.modelFile}`,u=await r(F,o.get(s.modelFile),s,{...t,threads:n}),d=c===null?i:await Pt(e,new TextEncoder().encode(`${i}
${c}`)),f={card:s,tokenizer:l,network:u,fingerprint:d};return new a(f)}function Rc(e,{words:t,spelling:r=!0}){if(t===void 0&&r)return[e,null];if(!e.corrector)throw new D("words, spelling: the artefact corrects no words; leave them out");if(t===void 0)return[e.withCorrector(null),"-"];if(!r)throw new D("words: are left as they are by the correction, which spelling: false turns off");K(t,1);let n=t.findIndex(fr);if(n>=0)throw new D(`words: entry ${n+1} is empty; leave it out`);let s=e.corrector.keeping(t);return[e.withCorrector(s),[...s.own].sort().map(o=>`${o}
`).join("")]}ve();x();async function Si(e,t={}){return Ks(new xt(Oi(e)),t,Ku)}function Oi(e){return new URL(e,globalThis.location?.href).href}var Ku=async(e,t,r,n)=>{let s=n.threads??1,o=Oi(`${(n.wasm??"wasm").replace(/\/*$/,"")}/`);if(s>1&&!globalThis.crossOriginIsolated)throw new re("threads need a page that is cross-origin isolated (COOP and COEP headers); give threads: 1 or send the headers");if(r.target==="tflite"){let{openLiteRt:c}=await Promise.resolve().then(()=>(Lo(),go));return c(e,t,r,{wasm:o,threads:s,accelerator:n.accelerator??"wasm"})}let[{openOnnx:i},a]=await Promise.all([Promise.resolve().then(()=>(Mo(),Do)),Promise.resolve().then(()=>(Ri(),Pi))]),l=`${o}ort-wasm-simd-threaded`;return a.env.wasm.wasmPaths={mjs:`${l}.mjs`,wasm:`${l}.wasm`},a.env.wasm.numThreads=s,i(e,t,r,{ort:a,name:"onnxruntime-web",provider:"wasm",threads:s})};var Yu=10,ae=null,ot=null,$i=0,gn=0,Ln=0,Xu={async open(e,t,r){let n=performance.now();ae=await Si(e,{...t,onProgress:r});let s=performance.now();await Ni(ae,ae.card.buckets[0]?.seqLen??ae.card.seqLen);let{card:o,runtime:i,threads:a}=ae;return{task:o.task,target:o.target,quant:o.quant,texts:o.texts,labels:o.labels,positive:o.positive,threshold:o.threshold,buckets:o.buckets.map(l=>l.seqLen),embeds:o.embedding!==null,runtime:i,threads:a,initMs:s-n,firstMs:performance.now()-s}},score:(e,t)=>wn(ne).score(e,{symmetric:t}),rank:(e,t,r)=>wn(ne).rank(e,t,r),embed:e=>tr().embed(e),classify:e=>wn(xe).classify(e),async index(e,t){let r=++$i;ot=null;let n=rr().mostRows;for(let s=0;s<e.length;s+=n){let o=e.slice(s,s+n),i=await tr().embed(o);if(r!==$i)return 0;ot?ot.add(i,o):ot=Ee.build(i,o,tr().fingerprint),t(s+o.length,"texts");do await yn();while(Ln)}return e.length},async search(e,t){let r=++gn;Ln+=1;try{if(await yn(),!ot||r!==gn)return[];let n=await tr().search(e,ot,Math.max(t,ae instanceof ne?Yu:t));return await yn(),r!==gn||!(ae instanceof ne)?n.slice(0,t):(await ae.rank(e,n.map(o=>o.text),t)).map(o=>({...o,place:n[o.place].place}))}finally{Ln-=1}},async measure(e,t,r){let n=rr(),s=[];for(let o=performance.now()+1e3*t;performance.now()<o||s.length<5;)s.push(await Ni(n,e)),s.length%5===0&&r(s.length,"inferences");return s}};function rr(){if(!ae)throw new D("no artefact is open; call open first");return ae}function wn(e){let t=rr();if(!(t instanceof e))throw new D(`the artefact is for ${t.card.task}, which does not do this`);return t}function tr(){let e=rr();return e instanceof me?e:me.of(e)}async function Ni(e,t){let r=performance.now();return await e.runFull(t),performance.now()-r}var Ii=new MessageChannel,Ui=[];Ii.port1.onmessage=()=>Ui.shift()?.();function yn(){return new Promise(e=>{Ui.push(e),Ii.port2.postMessage(null)})}globalThis.onmessage=async({data:e})=>{let{id:t,name:r,given:n}=e,s=(o,i)=>postMessage({id:t,progress:[o,i]});try{let o=Xu[r];postMessage({id:t,result:await o(...n,s)})}catch(o){postMessage({id:t,error:vn(o)})}};})();
